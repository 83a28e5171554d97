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
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    // Years from March on end with the leap day: 400 of them have 146097 days, each five months from March on 153.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
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
