import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { waitForIndex } from "../operator/session.ts";
import { runOperator } from "../operator/program.ts";
import { runSmoke, SmokeError, type SmokeWorld } from "./smoke.ts";

const USAGE =
  "Usage: npm run smoke -- <address>, with the output Address of the deployment, and TABLE_NAME and the credentials of the operator.\n";

/** A command of the operator failed; its own message says why. */
class OperatorFailure extends Error {}

const jsonObject = z.record(z.string(), z.unknown());

const operate: SmokeWorld["operate"] = async (words) => {
  const [out, err] = [[] as string[], [] as string[]];
  const code = await runOperator([...words, "--json"], {
    environment: process.env,
    now: Date.now,
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    waitForIndex,
    wait: (milliseconds) => sleep(milliseconds),
    ask: null,
  });
  if (code !== 0) throw new OperatorFailure(err.join("").trim());
  return jsonObject.parse(JSON.parse(out.join("")));
};

const apply: SmokeWorld["apply"] = async (manifest) => {
  const folder = mkdtempSync(join(tmpdir(), "smoke-"));
  try {
    const file = join(folder, "smoke.yaml");
    writeFileSync(file, JSON.stringify(manifest));
    return await operate(["application", "apply", file, "--yes"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const main = async ([address, ...others]: readonly string[]): Promise<number> => {
  if (address === undefined || others.length > 0 || !/^https?:$/.test(URL.parse(address)?.protocol ?? "")) {
    process.stderr.write(USAGE);
    return 2;
  }
  try {
    process.stdout.write(`Trying ${address}\n`);
    await runSmoke({
      address,
      operate,
      apply,
      now: Date.now,
      wait: (milliseconds) => sleep(milliseconds),
      say: (line) => void process.stdout.write(`${line}\n`),
    });
    process.stdout.write("The service works.\n");
    return 0;
  } catch (error) {
    if (error instanceof SmokeError || error instanceof OperatorFailure)
      process.stderr.write(`${error.message}\n`);
    else process.stderr.write(`${address} cannot be asked: ${String(error)}\n`);
    return 1;
  }
};

process.exitCode = await main(process.argv.slice(2));
