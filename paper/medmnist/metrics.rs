//! Metrics of logits: accuracy, AUC, cross entropy, confusion.
//!
//! ```text
//! AUC of a class = P(score of a volume of it > score of one that is not of it) + ½ P(equal)
//! ```
//!
//! Scores are probabilities (softmax). With two classes the AUC is that of class 1, with more the mean over classes, each against the rest, as
//! in MedMNIST's evaluator. Accuracy is a mean over volumes, that of Veefkind and Cesa one over minibatches.

/// Logits of volumes whose classes are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    classes: usize,
    /// `[n, classes]`.
    logits: Vec<f64>,
    truth: Vec<usize>,
}

impl Scored {
    pub fn new(classes: usize, logits: Vec<f64>, truth: Vec<usize>) -> Self {
        assert_eq!(logits.len(), classes * truth.len(), "a row of logits for each label");
        assert!(truth.iter().all(|&label| label < classes), "labels are below {classes}");
        Self { classes, logits, truth }
    }

    pub fn count(&self) -> usize {
        self.truth.len()
    }

    fn rows(&self) -> impl Iterator<Item = (&[f64], usize)> {
        self.logits.chunks(self.classes).zip(self.truth.iter().copied())
    }

    /// Counts `[classes, classes]`, rows the truth, columns the answer; of equal logits the first wins.
    pub fn confusion(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes * self.classes];
        for (logits, label) in self.rows() {
            counts[label * self.classes + largest(logits)] += 1;
        }
        counts
    }

    pub fn accuracy(&self) -> f64 {
        let right = self.rows().filter(|(logits, label)| largest(logits) == *label).count();
        right as f64 / self.count() as f64
    }

    /// Gain of accuracy over always giving `answer`, and its standard error, paired volume by volume:
    ///
    /// ```text
    /// d = [the network is right] − [the label is `answer`]      gain = mean d,      error = √((mean d² − gain²)/n)
    /// ```
    pub fn gain_over(&self, answer: usize) -> (f64, f64) {
        let right = |(logits, label): (&[f64], usize)| f64::from(largest(logits) == label);
        let differences = self.rows().map(|row| right(row) - f64::from(row.1 == answer));
        let (sum, squares) = differences.fold((0.0, 0.0), |(sum, squares), d| (sum + d, squares + d * d));
        let count = self.count() as f64;
        let gain = sum / count;
        // Rounding may make a variance of 0 negative.
        (gain, ((squares / count - gain * gain).max(0.0) / count).sqrt())
    }

    pub fn loss(&self) -> f64 {
        let losses = self.rows().map(|(logits, label)| log_sum(logits) - logits[label]);
        losses.sum::<f64>() / self.count() as f64
    }

    /// Area under the receiver operating characteristic, without classes of no volume or of all; NaN if none is left.
    pub fn auc(&self) -> f64 {
        let of_class = |class: usize| {
            let scores = self.rows().map(|(logits, _)| (logits[class] - log_sum(logits)).exp()).collect();
            area(scores, self.truth.iter().map(|&label| label == class).collect())
        };
        if self.classes == 2 {
            return of_class(1).unwrap_or(f64::NAN);
        }
        let areas: Vec<f64> = (0..self.classes).filter_map(of_class).collect();
        areas.iter().sum::<f64>() / areas.len() as f64
    }

    /// Accuracy on the volumes of these pairs by the two logits of the pair alone, and the number of volumes.
    pub fn pairs(&self, pairs: &[[usize; 2]]) -> (f64, usize) {
        let (mut right, mut count) = (0, 0);
        for &[first, second] in pairs {
            for (logits, label) in self.rows().filter(|(_, label)| [first, second].contains(label)) {
                let answer = if logits[second] > logits[first] { second } else { first };
                right += usize::from(answer == label);
                count += 1;
            }
        }
        (right as f64 / count as f64, count)
    }

    /// Share of the volumes of these pairs that are taken for either class of their pair; `None` if there are none.
    pub fn solids<'a>(&self, pairs: impl Iterator<Item = &'a [usize; 2]>) -> Option<f64> {
        let (mut right, mut count) = (0, 0);
        for pair in pairs {
            for (logits, _) in self.rows().filter(|(_, label)| pair.contains(label)) {
                right += usize::from(pair.contains(&largest(logits)));
                count += 1;
            }
        }
        (count > 0).then(|| right as f64 / count as f64)
    }
}

/// The standard error of a share of `count` independent answers.
pub fn binomial_error(share: f64, count: usize) -> f64 {
    (share * (1.0 - share) / count as f64).sqrt()
}

/// The most common label, of equal ones the first.
pub fn majority_class(labels: &[usize], classes: usize) -> usize {
    let mut counts = vec![0.0; classes];
    labels.iter().for_each(|&label| counts[label] += 1.0);
    largest(&counts)
}

/// Whether a gain over the most common class exceeds three standard errors.
pub fn beats_majority(gain: f64, error: f64) -> bool {
    gain > 3.0 * error
}

fn largest(numbers: &[f64]) -> usize {
    (1..numbers.len()).fold(0, |best, other| if numbers[other] > numbers[best] { other } else { best })
}

/// log Σ exp.
fn log_sum(logits: &[f64]) -> f64 {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + logits.iter().map(|logit| (logit - most).exp()).sum::<f64>().ln()
}

/// The area from the ranks of the members; equal scores share the mean of their ranks.
fn area(scores: Vec<f64>, member: Vec<bool>) -> Option<f64> {
    let members = member.iter().filter(|&&member| member).count();
    let others = member.len() - members;
    if members == 0 || others == 0 {
        return None;
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let (mut ranks, mut before) = (0.0, 0);
    for equals in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let mean = before as f64 + (equals.len() as f64 + 1.0) / 2.0;
        ranks += mean * equals.iter().filter(|&&at| member[at]).count() as f64;
        before += equals.len();
    }
    let (members, others) = (members as f64, others as f64);
    Some((ranks - members * (members + 1.0) / 2.0) / (members * others))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three classes, four volumes: the last is taken for class 0, the third has two equal logits.
    fn scored() -> Scored {
        let logits = [[2.0, 0.0, 1.0], [0.0, 3.0, 1.0], [0.0, 1.0, 1.0], [4.0, 1.0, 2.0]];
        Scored::new(3, logits.concat(), vec![0, 1, 1, 2])
    }

    #[test]
    fn large_logits_do_not_overflow_and_one_class_has_no_auc() {
        assert_eq!(Scored::new(2, vec![1000.0, -1000.0], vec![0]).loss(), 0.0);
        assert_eq!(Scored::new(2, vec![0.0; 8], vec![0, 1, 1, 0]).auc(), 0.5);
        assert!(Scored::new(2, vec![0.0; 2], vec![0]).auc().is_nan());
    }

    #[test]
    fn pairs_are_judged_by_two_logits_and_solids_by_all() {
        let scored = scored();
        // Answers 0, 1, 1, 0 of the labels 0, 1, 1, 2: the last is right in the pair (0, 2) alone.
        assert_eq!(scored.solids([[0, 2]].iter()), Some(1.0));
        assert_eq!(scored.solids([[1, 2]].iter()), Some(2.0 / 3.0));
        assert_eq!(scored.solids([].iter()), None);
        // Of classes 0 and 2: both volumes are taken for 0. Of 1 and 2: the third has equal logits, and the first of them wins.
        assert_eq!(scored.pairs(&[[0, 2]]), (0.5, 2));
        assert_eq!(scored.pairs(&[[1, 2]]), (1.0, 3));
        assert_eq!(scored.pairs(&[[0, 2], [1, 2]]), (4.0 / 5.0, 5));
        assert_eq!(scored.pairs(&[[2, 1]]), (2.0 / 3.0, 3));
    }

    #[test]
    fn gains_are_paired_volume_by_volume() {
        // Always 0 is right about the first volume alone, of which the network is right too; it is right about two more.
        let (gain, error) = scored().gain_over(0);
        assert_eq!((gain, error), (0.5, (0.25_f64 / 4.0).sqrt()));
        // Always 2 is right about the last, where the network is wrong: differences 1, 1, 1, −1.
        let (gain, error) = scored().gain_over(2);
        assert_eq!((gain, error), (0.5, (0.75_f64 / 4.0).sqrt()));
        let constant = Scored::new(2, [1.0, 0.0].repeat(7), vec![0, 1, 1, 0, 0, 1, 0]);
        assert_eq!(constant.gain_over(0), (0.0, 0.0));
        let right = Scored::new(2, vec![1.0, 0.0, 0.0, 1.0, 0.0, 1.0], vec![0, 1, 1]);
        let (gain, error) = right.gain_over(0);
        assert!((gain - 2.0 / 3.0).abs() < 1e-15 && (error - binomial_error(gain, 3)).abs() < 1e-15);
    }

    #[test]
    fn the_majority_and_the_errors_by_hand() {
        assert_eq!([majority_class(&[2, 1, 1, 2], 3), majority_class(&[2, 2, 0], 3)], [1, 2]);
        assert_eq!(binomial_error(0.5, 100), 0.05);
        assert!(beats_majority(0.16, 0.05) && !beats_majority(0.15, 0.05) && !beats_majority(0.0, 0.0));
    }
}
