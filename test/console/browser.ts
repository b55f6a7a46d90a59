import { existsSync } from "node:fs";
import chromium from "@sparticuz/chromium";
import { chromium as browsers, type Browser } from "playwright-core";

/** Where systems install Chromium, or a browser made of it. */
const INSTALLED = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:/Program Files/Google/Chrome/Application/chrome.exe",
  "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
];

/** The package's browser is for Linux on x64 alone. */
const packaged = async (): Promise<readonly string[]> =>
  process.platform === "linux" && process.arch === "x64" ? [await chromium.executablePath()] : [];

/** A container's user may be root, as whom Chromium has no sandbox of its own. The pages are the tests' own. */
const ARGUMENTS = ["--no-sandbox", "--disable-gpu"];

/** Starts Chromium: an installed one, or that of a package; null: there is none here that starts. */
export const startBrowser = async (): Promise<Browser | null> => {
  const installed = INSTALLED.filter((path) => existsSync(path));
  const candidates = [...installed, ...(await packaged().catch(() => []))];
  for (const executablePath of candidates) {
    const browser = await browsers
      .launch({ executablePath, args: ARGUMENTS, headless: true })
      .catch(() => null);
    if (browser !== null) return browser;
  }
  return null;
};
