import { safely } from "../../../functions/observability/logger.ts";

describe("an error in the log", () => {
  test("has its name, code, place and causes", () => {
    const cause = Object.assign(new TypeError("a secret"), { code: "E_CODE" });
    expect(safely(new Error("a secret", { cause }))).toEqual({
      name: "Error",
      at: expect.stringMatching(/logger\.test\.ts:\d+:\d+\)?$/),
      cause: { name: "TypeError", code: "E_CODE", at: expect.stringMatching(/logger\.test\.ts:\d+:\d+\)?$/) },
    });
  });

  test.each(["x\n    at a secret", "x\n    at secret:1:2", "x\n    at a secret (secret /y:1:2)"])(
    "repeats nothing of a message that looks like a stack: %j",
    (message) => {
      expect(JSON.stringify(safely(new Error(message)))).not.toContain("secret");
    },
  );

  test("ends when its causes form a circle", () => {
    const error = new Error("x");
    error.cause = error;
    expect(JSON.stringify(safely(error)).length).toBeLessThan(2000);
  });

  test.each([
    ["text", "string"],
    [undefined, "undefined"],
    [{ name: "a secret" }, "object"],
  ])("that is not an `Error` is logged as its type: %p", (thrown, name) => {
    expect(safely(thrown)).toEqual({ name });
  });
});
