import { jsonText } from "../../../operator/text/answer.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";

test.each<[string, object, object]>([
  [
    "a time is text",
    { at: NOW, pausedUntil: NOW },
    { at: "2026-06-15T12:00:00.000Z", pausedUntil: "2026-06-15T12:00:00.000Z" },
  ],
  [
    "never, and without an end, are null",
    { verifiedAt: 0, expiresAt: Infinity, since: null },
    { verifiedAt: null, expiresAt: null, since: null },
  ],
  [
    "another number stays",
    { tries: 0, what: ["at", 1], until: "text" },
    { tries: 0, what: ["at", 1], until: "text" },
  ],
])("in JSON, %s", (_, value, written) => {
  expect(JSON.parse(jsonText(value))).toEqual(written);
});
