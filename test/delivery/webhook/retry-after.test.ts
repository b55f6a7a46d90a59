import { retryTime } from "../../../lib/delivery/webhook/retry-after.ts";

const NOW = Date.UTC(2026, 0, 15, 12);
const SECOND = 1000;
const DAY = 24 * 3600 * SECOND;

test.each([
  ["1", NOW + SECOND],
  ["120", NOW + 120 * SECOND],
  ["86400", NOW + DAY],
  ["86401", NOW + DAY],
  ["9".repeat(400), NOW + DAY],
  ["Thu, 15 Jan 2026 12:00:30 GMT", NOW + 30 * SECOND],
  ["Thu, 15 Jan 2099 12:00:00 GMT", NOW + DAY],
])("%s is a later time, at most a day ahead", (header, time) => {
  expect(retryTime(header, NOW)).toBe(time);
});

test.each([
  undefined,
  "",
  "0",
  "-5",
  "1.5",
  "1e9",
  "soon",
  "Thu, 15 Jan 2026 11:59:59 GMT",
  "Thu, 99 Jan 2026 12:00:30 GMT",
  "2026-01-15T12:00:30Z",
  "Thu Jan 15 12:00:30 2026",
])("%s names no later time", (header) => {
  expect(retryTime(header, NOW)).toBeNull();
});
