//! The time of day in UTC, for names of folders.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time since 1970; zero on a clock before it.
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Now, as "20250131T235959Z".
pub(crate) fn stamp() -> String {
    format(since_epoch().as_secs())
}

fn format(seconds: u64) -> String {
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Year, month and day of a day counted from 1970-01-01.
fn date(mut days: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month as u64 + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn known_moments() {
        assert_eq!(format(0), "19700101T000000Z");
        assert_eq!(format(951_782_400), "20000229T000000Z");
        assert_eq!(format(1_000_000_000), "20010909T014640Z");
        assert_eq!(format(1_735_689_599), "20241231T235959Z");
        assert_eq!(format(4_107_542_400), "21000301T000000Z");
    }
}
