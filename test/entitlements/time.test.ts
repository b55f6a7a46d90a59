import { isInstant, isoTime, parsePeriod, plusPeriod } from "../../lib/entitlements/time.ts";
import { period } from "../../testing/support/stores/purchases.ts";

test.each([
  ["2026-01-31T10:00:00.000Z", "P1M", "2026-02-28T10:00:00.000Z"],
  ["2028-01-31T10:00:00.000Z", "P1M", "2028-02-29T10:00:00.000Z"],
  ["2028-02-29T00:00:00.000Z", "P1Y", "2029-02-28T00:00:00.000Z"],
  ["2026-12-15T23:59:59.999Z", "P1M", "2027-01-15T23:59:59.999Z"],
  ["2026-03-28T12:00:00.000Z", "P1Y2M3W4DT5H6M7S", "2027-06-22T17:06:07.000Z"],
])("%s plus %s is %s", (start, text, end) => {
  expect(new Date(plusPeriod(Date.parse(start), period(text))).toISOString()).toBe(end);
});

test.each(["", "P", "PT", "P1", "1D", "P-1D", "P1.5D", "P0D", "P1H", "PT1D", "p1d", "P1D ", "P1D1M"])(
  "%j is not a period",
  (text) => {
    expect(parsePeriod(text)).toBeNull();
  },
);

test("adding a period never goes beyond the last representable moment", () => {
  expect(isoTime(plusPeriod(Date.UTC(9999, 11, 31), period("P1M")))).toBe("9999-12-31T23:59:59.999Z");
});

const LAST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
test.each([-1, 1.5, NaN, Infinity, LAST + 1, "1", null, 0, 1, LAST])("whether %j is a moment", (value) => {
  expect(isInstant(value)).toBe(value === 0 || value === 1 || value === LAST);
});

test.each([
  ["P9999Y", 119_988, 0],
  ["P99999M", 99_999, 0],
  ["P99999W", 0, 99_999 * 7 * 86_400_000],
  ["P999999D", 0, 999_999 * 86_400_000],
  ["PT9999999H", 0, 9_999_999 * 3_600_000],
  ["PT99999999M", 0, 99_999_999 * 60_000],
  ["PT999999999S", 0, 999_999_999_000],
  ["P1MT0S", 1, 0],
  ["P0MT1S", 0, 1_000],
])("%s is %d months and %d milliseconds", (text, months, milliseconds) => {
  expect(parsePeriod(text)).toEqual({ months, milliseconds });
});
