import { isAtHand } from "../../../local/database/database.ts";

test.each([
  ["http://127.0.0.1:8000", true],
  ["http://[::1]:8000", true],
  ["http://localhost:8000", true],
  ["http://dynamodb:8000", true],
  ["https://dynamodb.us-east-1.amazonaws.com", false],
  ["http://[2001:db8::1]:8000", false],
  ["http://198.51.100.7:8000", false],
])("a database at %s is at hand, and a reset may empty it: %s", (endpoint, expected) => {
  expect(isAtHand(endpoint)).toBe(expected);
});
