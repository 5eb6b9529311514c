use super::*;

#[test]
fn retry_after_is_a_number_of_seconds_or_a_date() {
    let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
    assert_eq!(seconds_to_wait("30", now), Some(30.0));
    assert_eq!(seconds_to_wait(" 1.5 ", now), Some(1.5));
    assert_eq!(seconds_to_wait("Sun, 06 Nov 1994 08:50:37 GMT", now), Some(60.0));
    assert_eq!(seconds_to_wait("Sun, 06 Nov 1994 08:00:00 GMT", now), Some(0.0), "a date in the past is now");
    for nonsense in ["", "soon", "-3", "inf", "NaN"] {
        assert_eq!(seconds_to_wait(nonsense, now), None, "{nonsense:?}");
    }
}
