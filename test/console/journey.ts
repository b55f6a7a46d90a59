import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { BrowserContext, Page } from "playwright-core";
import { DEMO } from "../../local/demo.ts";
import { close, listen } from "../../local/server.ts";
import { startWholeService } from "../../testing/support/local-gateway.ts";
import { startBrowser } from "./browser.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const SIZES = { phone: { width: 360, height: 740 }, desk: { width: 1280, height: 900 } } as const;

export interface Look {
  readonly size?: keyof typeof SIZES;
  readonly colorScheme?: "light" | "dark";
}

/** A local run and a browser for all tests of the file. Where none starts, each journey says so and passes. */
export const withBrowser = async () => {
  const hosts = new Set<string>();
  const problems: string[] = [];
  const browser = await startBrowser();
  if (browser === null)
    process.stdout.write("No Chromium starts here: the console's journeys are not made.\n");
  const service = await startWholeService({ tableName: "customer-entitlements-demo" });
  const elsewhere = createServer((_, response) => {
    response.writeHead(200, { "Content-Type": "text/html" });
    response.end("<!doctype html><title>Another page</title>");
  });
  const port = await listen(elsewhere, 0);
  afterAll(async () => {
    await browser?.close();
    await close(elsewhere);
    await service.stop();
  });

  const post = async (path: string, body: object): Promise<ReturnType<typeof JSON.parse>> => {
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${service.demo.apiKey}` };
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(service.address + path, request);
    expect([path, response.ok]).toEqual([path, true]);
    return response.json();
  };

  return {
    hosts,
    problems,
    post,
    service,
    /** Address of a page of another origin. */
    elsewhere: `http://127.0.0.1:${port}`,
    /** Makes a journey in a browser's window of its own. */
    inBrowser: async (
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
      await journey(page, context).finally(() => context.close());
    },
    open: async (page: Page, hash: string): Promise<void> => {
      await page.goto(`${service.address}/console${hash}`);
      await page.locator("h1").waitFor();
    },
    buyAndLink: async (account: string, extra: Record<string, unknown> = {}): Promise<void> => {
      const bought = await post("/sandbox/ios-store/purchases", {
        environment: "production",
        applicationAccountIdentifier: account,
        transactions: [{ productIdentifier: DEMO.iosSubscription, period: "P1M" }],
        ...extra,
      });
      await post("/v1/customers/ios-store/link", bought);
    },
  };
};

/** Serious findings of axe, each its rule and first element. */
export const seriousIn = async (page: Page): Promise<unknown> => {
  await page.evaluate(AXE);
  return page.evaluate(`axe.run(document).then(({ violations }) => violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => [id, nodes[0].html]))`);
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
  `<script>alert(1)</script><img src=x onerror=alert(2)>,refunded,ios-store,monthly,73,true,refunded,export.csv,3`,
].join("\n");

/** Gives the files of a run to the page. */
export const giveReport = async (page: Page): Promise<void> => {
  await page.getByLabel("Both files").setInputFiles([
    { name: "import-report.json", mimeType: "application/json", buffer: Buffer.from(IMPORT_REPORT) },
    { name: "import-differences.csv", mimeType: "text/csv", buffer: Buffer.from(IMPORT_DIFFERENCES) },
  ]);
  await page.getByRole("table", { name: "Accounts that differ" }).waitFor();
};
