import { writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { DEMO } from "../../local/demo.ts";
import { giveReport, seriousIn, SIZES, withBrowser } from "./journey.ts";

/** The console of a local run, in a real browser. */

const { service, elsewhere, inBrowser, open, post, buyAndLink, hosts, problems } = await withBrowser();

const APPLICATION = DEMO.applicationIdentifier;
const accountAddress = (account: string): string =>
  `#/account/${APPLICATION}/${encodeURIComponent(account)}/1`;

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

/** `PICTURES=write LANE=slow npm run test:jest -- test/console/journeys` writes the README's picture anew. */
const takePicture = async (page: Page): Promise<void> => {
  const end = await page.getByText("The same as a table").boundingBox();
  const clip = { x: 0, y: 0, width: SIZES.desk.width, height: (end?.y ?? SIZES.desk.height) - 8 };
  const picture = await page.screenshot({ clip });
  expect(picture.length).toBeLessThanOrEqual(150 * 1024);
  if (process.env["PICTURES"] === "write") writeFileSync("docs/images/console.png", picture);
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
      expect(await entitlements.innerText()).toMatch(/grants premium until \w{3}, /);
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
    await post(`/sandbox/ios-store/purchases/${purchase}`, { change: "refund" });
    const entitlements = page.getByRole("list", { name: "Entitlements" });
    for (let tries = 0; tries < 50 && !(await entitlements.innerText()).includes("○ revoked"); tries += 1) {
      await page.getByRole("button", { name: "Read again" }).click();
      await page.waitForTimeout(100);
    }
    expect(await entitlements.innerText()).toMatch(/premium is revoked since \w{3}, /);
    const account = page.getByRole("region", { name: /^Customer/ }).first();
    await account.getByRole("button", { name: "Unlink the customer …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("why, for the audit").fill("the person asked");
    await dialog.getByLabel("who, for the audit; your user name by default").fill("ada");
    await dialog.getByRole("button", { name: "Show what it does" }).click();
    await dialog
      .getByText(/This takes customer .* \(1 purchase\) away from account lost-it of Demo/)
      .waitFor();
    await dialog.getByRole("button", { name: "Yes, do it" }).click();
    await dialog.getByText("is no longer linked to account lost-it").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText("No customer is linked to this account").waitFor();
    await page.getByText(/An operator's last change .* unlink, .* by ada.*: the person asked/).waitFor();
    const audit = await page.getByRole("table", { name: "Audit" }).innerText();
    expect(audit).toMatch(/unlink\s+ada \(local\)\s+the person asked/);
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
        const identifiers = await page
          .locator("[id]")
          .evaluateAll((elements) => elements.map(({ id }) => id));
        expect([name, identifiers.toSorted()]).toEqual([name, [...new Set(identifiers)].toSorted()]);
      }
      await open(page, PAGES.account);
      await page.getByRole("button", { name: "Unlink the customer …" }).first().click();
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
    await page.goto(elsewhere);
    const act = JSON.stringify({ act: { act: "application retell", application: APPLICATION } });
    const tried = await page.evaluate(
      async ([address, body]) => {
        const outcomeOf = async (asked: Promise<Response>): Promise<string> =>
          asked.then(
            (response) => `${response.type} ${response.status}`,
            () => "refused",
          );
        const headers = { "Content-Type": "application/json" };
        return Promise.all(
          [
            fetch(`${address}/console`),
            fetch(`${address}/console/api/act`, { method: "POST", headers, body: body ?? "" }),
            fetch(`${address}/console/api/act`, { method: "POST", mode: "no-cors", body: body ?? "" }),
          ].map(outcomeOf),
        );
      },
      [service.address, act] as const,
    );
    expect(tried).toEqual(["refused", "refused", "refused"]);
    // Nothing was done: the audit would tell of it.
    const own = await context.newPage();
    await own.goto(`${service.address}/console#/application/${APPLICATION}`);
    await own.getByRole("heading", { name: "What was changed" }).waitFor();
    expect(await own.getByText("every account is looked at").count()).toBe(0);
    // Nor can it be framed.
    await page.setContent(`<iframe src="${service.address}/console"></iframe>`);
    await page.waitForTimeout(300);
    const frame = page.frames().find((one) => one.url().includes("/console"));
    expect(await frame?.locator("h1").count()).not.toBe(1);
  }));

test("the page asks no other host for anything", () => {
  const own = new Set(["", ...[service.address, elsewhere].map((one) => new URL(one).host)]);
  expect([...hosts].filter((host) => !own.has(host))).toEqual([]);
  expect(problems).toEqual([]);
});
