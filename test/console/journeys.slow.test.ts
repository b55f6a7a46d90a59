import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { DEMO } from "../../local/demo.ts";
import { connect } from "../../operator/connection.ts";
import { serveConsole } from "../../operator/console/serve.ts";
import { startBrowser } from "./browser.ts";
import { startWholeService, type WholeService } from "../../testing/support/local-gateway.ts";

/** The console of a local run, in a real browser. Where none starts, each test says so and passes. */

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const APPLICATION = DEMO.applicationIdentifier;

let service: WholeService;
let browser: Browser | null;
let elsewhere: Server;
const hosts = new Set<string>();
const problems: string[] = [];
const cookiesElsewhere: string[] = [];

beforeAll(async () => {
  browser = await startBrowser();
  if (browser === null)
    process.stdout.write("No Chromium starts here: the console's journeys are not made.\n");
  service = await startWholeService({ tableName: "customer-entitlements-demo" });
  elsewhere = createServer(({ headers }, response) => {
    cookiesElsewhere.push(headers.cookie ?? "");
    response.writeHead(200, { "Content-Type": "text/html" });
    response.end("<!doctype html><title>Another page</title>");
  });
  await new Promise<void>((resolve) => void elsewhere.listen(0, "127.0.0.1", resolve));
}, 120_000);
afterAll(async () => {
  await browser?.close();
  elsewhere?.close();
  await service?.stop();
});

const SIZES = { phone: { width: 360, height: 740 }, desk: { width: 1280, height: 900 } } as const;

interface Look {
  readonly size?: keyof typeof SIZES;
  readonly colorScheme?: "light" | "dark";
}

/** Makes a journey in a browser's window of its own. */
const inBrowser = async (
  journey: (page: Page, context: BrowserContext) => Promise<void>,
  { size = "desk", colorScheme = "light" }: Look = {},
): Promise<void> => {
  if (browser === null) return;
  const context = await browser.newContext({ viewport: SIZES[size], colorScheme });
  const page = await context.newPage();
  page.on("request", (request) => void hosts.add(new URL(request.url()).host));
  page.on("pageerror", (error) => void problems.push(error.message));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  try {
    await journey(page, context);
  } finally {
    await context.close();
  }
};

const open = async (page: Page, hash: string): Promise<void> => {
  await page.goto(`${service.address}/console${hash}`);
  await page.locator("h1").waitFor();
};
const accountAddress = (account: string): string =>
  `#/account/${APPLICATION}/${encodeURIComponent(account)}/1`;

/** Serious findings of axe, each its rule and first element. */
const seriousIn = async (page: Page): Promise<unknown> => {
  await page.evaluate(AXE);
  return page.evaluate(`axe.run(document).then(({ violations }) => violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => [id, nodes[0].html]))`);
};

const post = async (path: string, body: object): Promise<ReturnType<typeof JSON.parse>> => {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${service.demo.apiKey}` };
  const response = await fetch(service.address + path, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  expect([path, response.ok]).toEqual([path, true]);
  return response.json();
};

const buyAndLink = async (account: string, extra: Record<string, unknown> = {}): Promise<void> => {
  const bought = await post("/sandbox/ios-store/purchases", {
    environment: "production",
    applicationAccountIdentifier: account,
    transactions: [{ productIdentifier: DEMO.iosSubscription, period: "P1M" }],
    ...extra,
  });
  await post("/v1/customers/ios-store/link", bought);
};

/** A subscription of Google Play that ends with its first month. */
const buyOnAndroidOnce = async (account: string): Promise<void> => {
  const product = { packageName: DEMO.packageName, productKind: "subscription" };
  const { purchaseToken } = await post("/sandbox/android-publisher/purchases", {
    ...product,
    productIdentifier: DEMO.androidSubscription,
    basePlanIdentifier: DEMO.androidBasePlan,
    period: "P1M",
  });
  await post("/v1/customers/android-store/link", {
    ...product,
    purchaseToken,
    applicationAccountIdentifier: account,
  });
  await post(`/sandbox/android-publisher/purchases/${purchaseToken}`, { change: "cancel" });
};

const README_PICTURE = "docs/images/console.png";
const LARGEST_PICTURE_BYTES = 150 * 1024;

/** `PICTURES=write LANE=slow npm run test:jest -- test/console/journeys -t README` writes the README's picture anew. */
const takePicture = async (page: Page): Promise<void> => {
  const end = await page.getByText("The same as a table").boundingBox();
  const clip = { x: 0, y: 0, width: SIZES.desk.width, height: (end?.y ?? SIZES.desk.height) - 8 };
  const picture = await page.screenshot({ clip });
  expect(picture.length).toBeLessThanOrEqual(LARGEST_PICTURE_BYTES);
  if (process.env["PICTURES"] === "write") writeFileSync(README_PICTURE, picture);
};

test(
  "a failed renewal shows the grace period and its end",
  async () =>
    inBrowser(async (page) => {
      const lifetime = { productIdentifier: DEMO.iosNonConsumable, type: "Non-Consumable" };
      await buyAndLink("hiker-42", { transactions: [lifetime] });
      await buyOnAndroidOnce("hiker-42");
      await open(page, "");
      await page.getByRole("link", { name: "Sandbox" }).click();
      await page.getByLabel("Account", { exact: true }).fill("hiker-42");
      await page
        .locator("select[name=product]")
        .selectOption({ label: `${DEMO.iosSubscription} (ios-store)` });
      await page.getByRole("button", { name: "Buy and link" }).click();
      await page.getByText("is bought, and linked to account hiker-42").waitFor();
      const sold = page.locator(".sold > li").filter({ hasText: DEMO.iosSubscription }).first();
      await sold.getByLabel("What happens to it").selectOption("fail-billing");
      await sold.getByRole("button", { name: "Make it happen" }).click();
      await sold.getByText("Done: the next payment fails").waitFor();
      await page.getByRole("button", { name: "Ahead a month" }).click();
      await page.getByText("The clock is a month ahead.").waitFor({ timeout: 120_000 });
      await page.getByRole("button", { name: "Ahead a day" }).click();
      await page.getByText("The clock is a day ahead.").waitFor({ timeout: 60_000 });
      await page.getByRole("link", { name: "Look at account hiker-42" }).click();
      const entitlements = page.getByRole("list", { name: "Entitlements" });
      await entitlements.waitFor();
      expect(await entitlements.innerText()).toContain("● grace period");
      expect(await entitlements.innerText()).toMatch(/\(ios-store\) gives access until \w{3}, /);
      await takePicture(page);
      await page.getByText("The same as a table").click();
      const rows = await page.getByRole("table", { name: "Purchases over time" }).innerText();
      expect(rows).toContain("grace period");
      expect(rows).toContain("billing retry, no access");
      expect(rows).toContain("store asked next");
      expect(await page.locator(".picture svg g[fill='url(#bar-grace_period)'] rect").count()).toBe(1);
    }),
  300_000,
);

test("a lost access shows the refund, its time and who unlinked", async () =>
  inBrowser(async (page) => {
    await buyAndLink("lost-it");
    await open(page, `#/application/${APPLICATION}`);
    await page.getByRole("searchbox").fill("lost-it");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Account lost-it" }).waitFor();
    const purchase = await page.locator("details code").first().textContent();
    await fetch(`${service.address}/sandbox/ios-store/purchases/${purchase}`, {
      method: "POST",
      body: JSON.stringify({ change: "refund" }),
    });
    const entitlements = page.getByRole("list", { name: "Entitlements" });
    for (let tries = 0; tries < 50 && !(await entitlements.innerText()).includes("○ revoked"); tries += 1) {
      await page.getByRole("button", { name: "Read again" }).click();
      await page.waitForTimeout(100);
    }
    expect(await entitlements.innerText()).toMatch(/gave access until .*: it was refunded/);
    // By any name of the purchase.
    await page.getByRole("searchbox").fill(purchase ?? "");
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByRole("heading", { name: "Account lost-it" }).waitFor();

    const account = page.getByRole("region", { name: /^Customer/ }).first();
    await account.getByRole("button", { name: "Unlink …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason, for the audit").fill("the person asked");
    await dialog.getByLabel("Who, for the audit").fill("ada");
    await dialog.getByRole("button", { name: "Show what it does" }).click();
    await dialog
      .getByText(/This takes customer .* \(1 purchase\) away from account lost-it of Demo/)
      .waitFor();
    await dialog.getByRole("button", { name: "No, change nothing" }).click();
    expect(await page.getByText("No customer is linked to this account").count()).toBe(0);

    await account.getByRole("button", { name: "Unlink …" }).click();
    await dialog.getByLabel("Reason, for the audit").fill("the person asked");
    await dialog.getByLabel("Who, for the audit").fill("ada");
    await dialog.getByRole("button", { name: "Show what it does" }).click();
    await dialog.getByRole("button", { name: "Yes, do it" }).click();
    await dialog.getByText("is no longer linked to account lost-it").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText("No customer is linked to this account").waitFor();
    await page.getByText(/An operator's last change .* unlink, .* by ada.*: the person asked/).waitFor();
    const audit = await page.getByRole("table", { name: "Audit" }).innerText();
    expect(audit).toMatch(/unlink\s+ada \(local\)\s+the person asked/);
  }));

test("an upgrade that took access away shows the unmapped product", async () =>
  inBrowser(async (page) => {
    await buyAndLink("upgraded");
    await open(page, accountAddress("upgraded"));
    const entitlements = page.getByRole("list", { name: "Entitlements" });
    await entitlements.waitFor();
    const purchase = await page.locator("details code").first().textContent();
    await fetch(`${service.address}/sandbox/ios-store/purchases/${purchase}`, {
      method: "POST",
      body: JSON.stringify({ change: "upgrade", productIdentifier: "com.example.gold" }),
    });
    for (let tries = 0; tries < 50 && !(await entitlements.innerText()).includes("no access"); tries += 1) {
      await page.getByRole("button", { name: "Read again" }).click();
      await page.waitForTimeout(100);
    }
    expect(await entitlements.innerText()).toMatch(/no access since \w{3}, .* UTC/);
    expect(await entitlements.innerText()).toContain("it was changed to com.example.gold.");
    const reason = page.getByText(
      "com.example.gold (ios-store) grants nothing: the catalog has no ios-store product com.example.gold",
    );
    expect(await reason.isVisible()).toBe(true);
  }));

test("a product with a base plan cannot be bought once", async () =>
  inBrowser(async (page) => {
    await open(page, "#/sandbox/user-1");
    const once = page.locator("select[name=period] option", { hasText: "bought once" });
    await page.locator("select[name=product]").selectOption({ label: `${DEMO.iosSubscription} (ios-store)` });
    expect(await once.count()).toBe(1);
    await page.locator("select[name=product]").selectOption({ label: "premium monthly (android-store)" });
    expect(await once.count()).toBe(0);
  }));

test("the keyboard does everything, and a dialog gives the focus back", async () =>
  inBrowser(async (page) => {
    await buyAndLink("by-keyboard");
    await open(page, accountAddress("by-keyboard"));
    await page.getByRole("list", { name: "Entitlements" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.tagName")).toBe("MAIN");
    const button = page.getByRole("button", { name: "Erase the customer …" });
    await button.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    expect(await page.evaluate("document.activeElement.closest('dialog') !== null")).toBe(true);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Erase the customer …");
    // A whole act: its reason, its question, and the outcome.
    await page.getByRole("button", { name: "Unlink …" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Tab");
    await page.getByLabel("Reason, for the audit").focus();
    await page.keyboard.type("by keyboard");
    await page.keyboard.press("Enter");
    const yes = page.getByRole("button", { name: "Yes, do it" });
    await yes.waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    expect(await yes.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await page.keyboard.press("Enter");
    await page.getByText("is no longer linked to account by-keyboard").waitFor();
  }));

test("a dialog that is opened at once after another one stays", async () =>
  inBrowser(async (page) => {
    await buyAndLink("at-once");
    await open(page, accountAddress("at-once"));
    await page.getByRole("button", { name: "Erase the customer …" }).click();
    await page.getByRole("dialog").waitFor();
    // The first one's close event comes after this, as it does when a key follows Escape quickly.
    await page.evaluate(`
      document.querySelector("dialog").close();
      [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Unlink …").click();
    `);
    await page.getByRole("dialog", { name: "Unlink" }).waitFor();
    await page.getByLabel("Reason, for the audit").fill("stays");
    await page.getByRole("button", { name: "Show what it does" }).click();
    await page.getByRole("button", { name: "Yes, do it" }).waitFor();
    expect(await page.getByRole("dialog").count()).toBe(1);
  }));

const HOSTILE = [
  "<script>alert(1)</script><img src=x onerror=alert(2)>",
  "حساب-‮مميز",
  "😀".repeat(64),
  "a/b?c#d%2e..",
];

test("hostile names are shown as they are, and do nothing", async () =>
  inBrowser(async (page) => {
    for (const account of HOSTILE) {
      await buyAndLink(account);
      await open(page, `#/application/${APPLICATION}`);
      await page.getByRole("searchbox").fill(account);
      await page.keyboard.press("Enter");
      const heading = page.locator("h1 bdi");
      await page.getByRole("list", { name: "Entitlements" }).waitFor();
      expect(await heading.textContent()).toBe(account);
      expect(await page.locator("main script, main img").count()).toBe(0);
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    }
    expect(problems).toEqual([]);
  }));

/** Keeps a picture of the page in the folder `SCREENSHOTS`, if one is given. */
const keep = async (page: Page, name: string): Promise<void> => {
  const folder = process.env["SCREENSHOTS"];
  if (folder)
    await page.screenshot({ path: join(folder, `${name.replaceAll(" ", "-")}.png`), fullPage: true });
};

const IMPORT_REPORT = JSON.stringify({
  sentence: "If you switched now: 1 payer would lose access, 2 would lose what they no longer pay for.",
  causes: [
    { cause: "two-accounts", meaning: "one person, several accounts", accounts: 1 },
    { cause: "refunded", meaning: "its store has refunded it", accounts: 2 },
  ],
});
const IMPORT_DIFFERENCES = [
  "account,cause,store,product,purchase,other_service_gives_access,state,file,row",
  "moved-in,two-accounts,ios-store,monthly,71,true,active,export.csv,1",
  "a-refund,refunded,ios-store,monthly,72,true,refunded,export.csv,2",
  `${HOSTILE[0]?.replaceAll(",", "")},refunded,ios-store,monthly,73,true,refunded,export.csv,3`,
].join("\n");

/** Gives the files of a run to the page. */
const giveReport = async (page: Page): Promise<void> => {
  await page.getByLabel("Both files").setInputFiles([
    { name: "import-report.json", mimeType: "application/json", buffer: Buffer.from(IMPORT_REPORT) },
    { name: "import-differences.csv", mimeType: "text/csv", buffer: Buffer.from(IMPORT_DIFFERENCES) },
  ]);
  await page.getByRole("table", { name: "Accounts that differ" }).waitFor();
};

test("an import's report leads from its causes to an account's picture", async () =>
  inBrowser(async (page) => {
    await buyAndLink("moved-in");
    await open(page, `#/application/${APPLICATION}`);
    await page.getByRole("link", { name: "The report of an import" }).click();
    await page.getByRole("heading", { name: "Report of an import" }).waitFor();
    const asked: string[] = [];
    page.on("request", (request) => void asked.push(request.url()));
    await giveReport(page);
    expect(asked).toEqual([]);
    await page.getByText("If you switched now: 1 payer would lose access").waitFor();
    const widths = await page.locator(".bar").evaluateAll((bars) => bars.map((bar) => bar.clientWidth));
    expect(widths).toHaveLength(2);
    expect(widths[0]).toBeLessThan(widths[1] ?? 0);
    expect(await page.locator("main script, main img").count()).toBe(0);
    await page.getByRole("searchbox").fill("two-acc");
    await page.getByText("1 purchase", { exact: true }).waitFor();
    await page.getByRole("link", { name: "moved-in" }).click();
    await page.getByRole("heading", { name: "Account moved-in" }).waitFor();
    await page.getByRole("list", { name: "Entitlements" }).waitFor();
  }));

const PAGES = {
  applications: "",
  application: `#/application/${APPLICATION}`,
  account: accountAddress("looked-at"),
  "account without customers": accountAddress("nobody"),
  sandbox: "#/sandbox/user-1",
  requests: "#/requests",
  import: `#/import/${APPLICATION}`,
};

const LOOKS = (["phone", "desk"] as const).flatMap((size) =>
  (["light", "dark"] as const).map((colorScheme) => ({ size, colorScheme })),
);

test.each(LOOKS)(
  "axe finds nothing serious on any page ($size, $colorScheme)",
  async (look) => {
    await buyAndLink("looked-at", { appTransactionIdentifier: "704000000000777" });
    await inBrowser(async (page) => {
      for (const [name, hash] of Object.entries(PAGES)) {
        await open(page, hash);
        await page.waitForLoadState("networkidle").catch(() => undefined);
        if (name === "import") await giveReport(page);
        for (const summary of await page.locator("summary").all()) await summary.click();
        expect([name, await seriousIn(page)]).toEqual([name, []]);
        const isWider = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
        expect([name, isWider]).toEqual([name, false]);
        await keep(page, `${name}-${look.size}-${look.colorScheme}`);
      }
      await open(page, PAGES.account);
      await page.getByRole("button", { name: "Unlink …" }).first().click();
      await page.getByRole("dialog").waitFor();
      expect(["dialog", await seriousIn(page)]).toEqual(["dialog", []]);
    }, look);
  },
  90_000,
);

test("requests to the API appear as they come, with their refusals", async () =>
  inBrowser(async (page) => {
    await open(page, "#/requests");
    await fetch(`${service.address}/v1/customers/seen-live/entitlements`, {
      headers: { Authorization: "Bearer cek_0000000000000000_00" },
    });
    const line = page.getByText(/^GET \/v1\/customers\/seen-live\/entitlements/).first();
    await line.waitFor();
    expect(await line.innerText()).toMatch(
      / 401 \d+ ms INVALID_CREDENTIAL: .*not Bearer and a whole API key/,
    );
  }));

test("a page of another origin can neither read nor do anything", async () =>
  inBrowser(async (page, context) => {
    const { port } = elsewhere.address() as AddressInfo;
    await page.goto(`http://127.0.0.1:${port}/`);
    const act = JSON.stringify({ act: { act: "application retell", application: APPLICATION } });
    const tried = await page.evaluate(
      async ([address, body]) => {
        const outcomeOf = async (asked: Promise<Response>): Promise<string> =>
          asked.then(
            (response) => `${response.type} ${response.status}`,
            () => "refused",
          );
        return Promise.all([
          outcomeOf(fetch(`${address}/console`)),
          outcomeOf(fetch(`${address}/console/api/start`, { method: "POST", body: "{}" })),
          outcomeOf(
            fetch(`${address}/console/api/act`, {
              method: "POST",
              headers: { "Content-Type": "application/json" },
              body: body ?? "",
            }),
          ),
          outcomeOf(
            fetch(`${address}/console/api/act`, { method: "POST", mode: "no-cors", body: body ?? "" }),
          ),
        ]);
      },
      [service.address, act] as const,
    );
    expect(tried).toEqual(["refused", "refused", "refused", "refused"]);
    // Nothing was done: the audit would tell of it.
    const own = await context.newPage();
    await own.goto(`${service.address}/console#/application/${APPLICATION}`);
    await own.getByRole("heading", { name: "What was changed" }).waitFor();
    expect(await own.getByText("retell").count()).toBe(0);
    // It cannot be framed either.
    await page.setContent(`<iframe src="${service.address}/console"></iframe>`);
    await page.waitForTimeout(300);
    const frame = page.frames().find((one) => one.url().includes("/console"));
    expect(await frame?.locator("h1").count()).not.toBe(1);
  }));

test("the console of a deployed table admits its own browser alone", async () => {
  const environment = { AWS_ENDPOINT_URL_DYNAMODB: service.dynamoDbEndpoint };
  const pause = () => Promise.resolve();
  const served = await serveConsole(
    await connect(service.tableName, environment),
    { now: Date.now, wait: pause, waitForIndex: pause },
    0,
    () => undefined,
  );
  try {
    await inBrowser(async (page, context) => {
      await page.goto(served.address);
      await page.locator("h1").waitFor();
      expect(page.url()).not.toContain("token");
      await page.reload();
      await page.getByRole("link", { name: DEMO.name }).click();
      await page.getByRole("heading", { name: "API keys" }).waitFor();
      expect(await context.cookies(page.url())).toHaveLength(1);
      const { port } = elsewhere.address() as AddressInfo;
      cookiesElsewhere.length = 0;
      for (const path of ["/", "/console", "/console/", "/console/api/start"])
        await page.goto(`http://127.0.0.1:${port}${path}`);
      expect(new Set(cookiesElsewhere)).toEqual(new Set([""]));
    });
  } finally {
    hosts.delete(new URL(served.address).host);
    await served.stop();
  }
});

test("a button that does it at once does not promise a question", async () =>
  inBrowser(async (page) => {
    await open(page, `#/application/${APPLICATION}`);
    const dialog = page.getByRole("dialog");
    const rotate = async (): Promise<void> => {
      await page.getByRole("button", { name: "New secret for local …" }).click();
      expect(await dialog.getByRole("button", { name: "Show what it does" }).count()).toBe(0);
      await dialog.getByRole("button", { name: "New secret for local" }).click();
    };
    for (const said of ["It is shown only once", "It is shown only once", "was rotated less than 24 h ago"]) {
      await rotate();
      await dialog.getByText(said).waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "hidden" });
    }
  }));

test("what a store refuses is said in the page", async () =>
  inBrowser(async (page) => {
    await open(page, "#/sandbox/user-1");
    const sold = page.locator(".sold > li").filter({ hasText: "android-store" }).first();
    await sold.getByLabel("What happens to it").selectOption("complete");
    await sold.getByRole("button", { name: "Make it happen" }).click();
    const alert = sold.getByRole("alert");
    await alert.waitFor();
    expect(await alert.innerText()).not.toBe("");
    const bought = page.locator(".sold > li").filter({ hasText: "ios-store" }).first();
    await bought.getByRole("button", { name: "To its account" }).click();
    await page.getByRole("heading", { name: /^Account / }).waitFor();
  }));

test("the page asks no other host for anything", () => {
  const { host } = new URL(service.address);
  const { port } = elsewhere.address() as AddressInfo;
  expect([...hosts].filter((one) => one !== host && one !== `127.0.0.1:${port}` && one !== "")).toEqual([]);
  expect(problems).toEqual([]);
});
