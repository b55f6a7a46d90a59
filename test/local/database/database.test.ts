import { isAtHand } from "../../../local/database/database.ts";

test.each(["http://127.0.0.1:8000", "http://[::1]:8000", "http://localhost:8000", "http://dynamodb:8000"])(
  "a database at %s is at hand: a reset may empty it",
  (endpoint) => {
    expect(isAtHand(endpoint)).toBe(true);
  },
);

test.each([
  "https://dynamodb.us-east-1.amazonaws.com",
  "http://[2001:db8::1]:8000",
  "http://198.51.100.7:8000",
])("a database at %s is not", (endpoint) => {
  expect(isAtHand(endpoint)).toBe(false);
});
