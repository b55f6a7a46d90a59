import type { WholeService } from "../../testing/support/local-gateway.ts";
import { operate } from "../operator/run-operator.ts";

/** Runs a command of the operator and returns its output; expects that it is done. */
export type RunCommand = (...words: readonly string[]) => Promise<string>;

/** Commands in a shell with the tutorial's exports for this service. */
export const operatorOf =
  (service: WholeService, changes: Readonly<Record<string, string>> = {}): RunCommand =>
  async (...words) => {
    const { code, out, err } = await operate(words, {
      environment: {
        TABLE_NAME: service.tableName,
        AWS_ENDPOINT_URL_DYNAMODB: service.dynamoDbEndpoint,
        AWS_ENDPOINT_URL_SECRETS_MANAGER: service.address,
        AWS_ENDPOINT_URL_STS: service.address,
        // The tests' tables have names of their own, the local run's secret has not.
        MASTER_SECRET: "customer-entitlements-master",
        ...changes,
      },
    });
    expect([words, code, code === 0 ? "" : err]).toEqual([words, 0, ""]);
    return err + out;
  };
