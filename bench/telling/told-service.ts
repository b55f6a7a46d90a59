import { randomUUID } from "node:crypto";
import { DEMO } from "../../local/demo.ts";
import { startLocalService } from "../../local/local-service.ts";
import { requiredVariable } from "../environment.ts";

/** The whole service as `npm start` runs it: its schedules begin every second, and the demo application has a webhook. */
export interface ToldService {
  readonly address: string;
  readonly apiKey: string;
  /** An iOS subscription. */
  readonly product: string;
  /** Milliseconds from the act to the message about the account. */
  untilTold(account: string, act: () => Promise<unknown>): Promise<number>;
  stop(): Promise<void>;
}

export const startToldService = async (): Promise<ToldService> => {
  const waiting = new Map<string, () => void>();
  const service = await startLocalService({
    port: 0,
    dynamoDb: { endpoint: requiredVariable("AWS_ENDPOINT_URL_DYNAMODB") },
    dataFolder: null,
    tableName: `bench-${randomUUID()}`,
    assemblyFolder: requiredVariable("BENCH_ASSEMBLY"),
    tell: (line) => waiting.get(/^told {2}(\S+) {2}/.exec(line)?.[1] ?? "")?.(),
    log: () => undefined,
  });
  return {
    address: service.address,
    apiKey: service.demo.apiKey,
    product: DEMO.iosSubscription,
    untilTold: async (account, act) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(account, resolve);
      const start = performance.now();
      await act();
      await promise;
      return performance.now() - start;
    },
    stop: service.stop,
  };
};
