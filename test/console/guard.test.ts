import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { createTokenGuard, openGuard } from "../../operator/console/guard.ts";

/** Who is let in, by what a browser says of itself. */

const request = (method: string, headers: Readonly<Record<string, string>>): IncomingMessage =>
  Object.assign(new IncomingMessage(new Socket()), { method, headers });

const opening = {
  "sec-fetch-site": "cross-site",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
};

describe("the console's guard", () => {
  test("knows its address as a browser writes it: without the port 80", () => {
    const guard = openGuard(() => 80);
    expect(guard.refusal(request("GET", { host: "127.0.0.1" }))).toBeNull();
    expect(guard.refusal(request("GET", { host: "127.0.0.1:3000" }))).not.toBeNull();
  });

  test.each<[string, string, Record<string, string>, boolean]>([
    ["the address bar", "GET", { "sec-fetch-site": "none" }, true],
    ["a link of another site", "GET", opening, true],
    ["a frame of another site", "GET", { ...opening, "sec-fetch-dest": "iframe" }, false],
    ["a form of another site", "POST", { ...opening, "content-type": "application/json" }, false],
    [
      "a script of another site",
      "GET",
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" },
      false,
    ],
    ["an origin alone", "GET", { origin: "http://localhost:1" }, false],
  ])("%s", (_, method, headers, isAllowed) => {
    const refusal = openGuard(() => 3000).refusal(request(method, { host: "localhost:3000", ...headers }));
    expect(refusal === null).toBe(isAllowed);
  });

  test("asks for the cookie also of a link", () => {
    const guard = createTokenGuard(() => 3000);
    expect(guard.refusal(request("GET", { host: "localhost:3000", ...opening }))).toMatch(/used once/);
  });
});
