import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { waitForIndex } from "../operator/session.ts";
import { runOperator } from "../operator/program.ts";

/** A command of the operator failed; its own message says why. */
export class OperatorFailure extends Error {}

const jsonObject = z.record(z.string(), z.unknown());

/**
 * Runs a command of the operator.
 *
 * @returns its JSON
 * @throws OperatorFailure
 */
export const operate = async (...words: readonly string[]): Promise<z.infer<typeof jsonObject>> => {
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

/** Runs `application apply`. */
export const apply = async (manifest: object): Promise<z.infer<typeof jsonObject>> => {
  const folder = mkdtempSync(join(tmpdir(), "smoke-"));
  try {
    const file = join(folder, "smoke.yaml");
    writeFileSync(file, JSON.stringify(manifest));
    return await operate("application", "apply", file, "--yes");
  } finally {
    rmSync(folder, { recursive: true });
  }
};
