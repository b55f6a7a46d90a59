import { setTimeout as sleep } from "node:timers/promises";
import { runOperator } from "../../operator/program.ts";
import type { WholeService } from "../../testing/support/local-gateway.ts";

/** Runs a command of the operator and returns its output; expects that it is done. */
export type RunCommand = (...words: readonly string[]) => Promise<string>;

/** Commands in a shell with the tutorial's exports for this service. */
export const operatorOf =
  (service: WholeService, changes: Readonly<Record<string, string>> = {}): RunCommand =>
  async (...words) => {
    const out: string[] = [];
    const code = await runOperator(words, {
      environment: {
        TABLE_NAME: service.tableName,
        AWS_ENDPOINT_URL_DYNAMODB: service.dynamoDbEndpoint,
        AWS_ENDPOINT_URL_SECRETS_MANAGER: service.address,
        AWS_ENDPOINT_URL_STS: service.address,
        // The tests' tables have names of their own, the local run's secret has not.
        MASTER_SECRET: "customer-entitlements-master",
        ...changes,
      },
      now: () => Date.now(),
      out: (text) => void out.push(text),
      err: (text) => void out.push(text),
      waitForIndex: () => Promise.resolve(),
      wait: async (milliseconds) => sleep(milliseconds),
      ask: null,
    });
    expect([words, code, code === 0 ? "" : out.join("")]).toEqual([words, 0, ""]);
    return out.join("");
  };
