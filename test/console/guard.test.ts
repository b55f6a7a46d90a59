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
  test.each<[string, string, Record<string, string>, boolean]>([
    ["its address as a browser writes it, without the port 80", "GET", { host: "127.0.0.1" }, true],
    ["another port", "GET", { host: "127.0.0.1:3000" }, false],
    ["a name with a dot at its end", "GET", { host: "localhost.:80" }, false],
    ["the address bar", "GET", { "sec-fetch-site": "none" }, true],
    ["a link of another site", "GET", opening, true],
    ["a frame of another site", "GET", { ...opening, "sec-fetch-dest": "iframe" }, false],
    ["a form of another site", "POST", { ...opening, "content-type": "application/json" }, false],
    ["a script of another site", "GET", { ...opening, "sec-fetch-mode": "no-cors" }, false],
    ["another port's page", "GET", { "sec-fetch-site": "same-site" }, false],
    ["an origin alone", "GET", { origin: "http://localhost:1" }, false],
    ["a page without an origin", "GET", { origin: "null" }, false],
  ])("%s", (_, method, headers, isAllowed) => {
    const refusal = openGuard(80).refusal(request(method, { host: "localhost", ...headers }));
    expect(refusal === null).toBe(isAllowed);
  });
  test("asks for the cookie also of a link", () => {
    const guard = createTokenGuard(3000);
    expect(guard.refusal(request("GET", { host: "localhost:3000", ...opening }))).toMatch(/used once/);
  });
});
