import { withOperator } from "../operator/telling-world.ts";
import { open, serve } from "./opened.ts";

/** The address of a deployed table's console. */

const given = withOperator();
let opened: Awaited<ReturnType<typeof open>>;
beforeAll(async () => {
  opened = await open(given);
});
afterAll(() => opened.stop());

/** Acts at another console, to which nobody was admitted yet. */
const atAnother = async (
  act: (another: Awaited<ReturnType<typeof serve>>) => Promise<void>,
): Promise<void> => {
  const another = await serve(given);
  await act(another).finally(another.stop);
};

test("the address lets one browser in, once, and leaves the address bar", async () =>
  atAnother(async ({ ask, path }) => {
    for (const wrong of ["/console", "/console?token=wrong"])
      expect((await ask("GET", wrong)).status).toBe(403);
    // A rebound name does not use the token up.
    expect((await ask("GET", path, { Host: "evil.example.com" })).status).toBe(403);
    const admitted = await ask("GET", path);
    expect([admitted.status, admitted.headers["cache-control"]]).toEqual([303, "no-store"]);
    expect(admitted.headers["location"]).toMatch(/^\/console\/[\w-]{43}\/$/);
    expect(String(admitted.headers["set-cookie"])).toMatch(
      /^console-\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=/,
    );
    const again = await ask("GET", path);
    expect([again.status, again.headers["set-cookie"]]).toEqual([403, undefined]);
  }));

test("every file and call is for that browser alone, uncached", async () => {
  const { ask, page, cookie, own, call } = opened;
  for (const path of ["", "main.js", "style.css", "pico.css"].map((name) => `${page}${name}`)) {
    expect((await ask("GET", path)).status).toBe(403);
    const { status, headers } = await ask("GET", path, { Cookie: cookie });
    expect([status, headers["cache-control"]]).toEqual([200, "no-store"]);
    expect(headers["content-security-policy"]).toMatch(
      /^default-src 'none'; script-src 'self';.*frame-ancestors 'none'$/,
    );
  }
  const { Cookie: _, ...without } = own;
  expect((await ask("POST", `${page}api/start`, without, "{}")).status).toBe(403);
  expect((await call("start", {})).status).toBe(200);
  expect((await ask("GET", `${page}api/requests`, own)).status).toBe(405);
  expect((await ask("GET", "/")).headers["location"]).toBe("/console");
});

test("the cookie is for no other port", async () =>
  atAnother(async ({ ask, path }) => {
    const { headers } = await ask("GET", path);
    const location = String(headers["location"]);
    expect(String(headers["set-cookie"]).endsWith(`; Path=${location}`)).toBe(true);
    const [its = ""] = String(headers["set-cookie"]).split(";");
    // The cookie is nothing at a path that a server on another port could serve too.
    for (const guessed of ["/console/", "/console/api/start", opened.page])
      expect((await ask("GET", guessed, { Cookie: its })).status).toBe(404);
    // A cookie of its name that another port has set does not lock the browser out.
    const [name] = its.split("=");
    expect((await ask("GET", location, { Cookie: `${name}=tossed; ${its}` })).status).toBe(200);
  }));

test.each([
  ["OPTIONS", "*"],
  ["GET", "//["],
  ["GET", "/console/%E0%A4%A"],
])("%s %s is answered without a stack", async (method, path) => {
  const { status, text } = await opened.ask(method, path, { Cookie: opened.cookie });
  expect([302, 303, 403, 404]).toContain(status);
  expect(text).not.toMatch(/Error|at /);
});

test.each(["elsewhere", "__proto__", "constructor"])("there is no file and no call %s", async (name) => {
  const { ask, page, cookie, call } = opened;
  expect((await ask("GET", `${page}${name}`, { Cookie: cookie })).status).toBe(404);
  expect((await call(name, {})).status).toBe(404);
});

test.each<[string, Record<string, string>]>([
  ["another name of this machine", { Host: "evil.example.com" }],
  ["another site", { "Sec-Fetch-Site": "cross-site" }],
  ["a form", { "Content-Type": "text/plain" }],
  ["another cookie", { Cookie: "console=1" }],
])("a call of %s is refused", async (_, changed) => {
  const { ask, page, own } = opened;
  const { status, text } = await ask("POST", `${page}api/start`, { ...own, ...changed }, "{}");
  expect([status, text.includes(given.table.name)]).toEqual([403, false]);
});

test.each([
  ["nothing", ""],
  ["a prototype", '{"__proto__":{"application":"x"},"constructor":{"prototype":{}}}'],
  ["an act of a prototype", '{"act":{"act":"__proto__","application":"x"}}'],
  ["too much", " ".repeat(70_000)],
])("a body of %s is refused, and the next call is answered", async (_, body) => {
  const { ask, page, own, call } = opened;
  for (const name of ["start", "act"]) {
    const { status, text } = await ask("POST", `${page}api/${name}`, own, body);
    expect([name, status]).toEqual([name, 400]);
    expect(JSON.parse(text)).toEqual({ message: expect.any(String), warnings: [] });
  }
  expect(Object.hasOwn(Object.prototype, "application")).toBe(false);
  expect((await call("start", {})).status).toBe(200);
});

test("the command line prints the address, and serves until it is ended", async () => {
  let [address = "", reached] = ["", 0];
  const { code, out } = await given.operator.run("console --port 0", {
    out: (text) => ([address = ""] = text.split("\n")),
    untilStopped: async () => {
      reached = (await fetch(address, { redirect: "manual" })).status;
    },
  });
  expect([code, reached]).toEqual([0, 303]);
  expect(out).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\?token=[\w-]{43}\n/);
  await expect(fetch(address)).rejects.toThrow("fetch failed");
});
