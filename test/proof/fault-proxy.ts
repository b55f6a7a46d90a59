import { startProxy } from "../../testing/support/table/proxy.ts";

export interface FaultProxy {
  readonly endpoint: string;
  /** Operations of the requests since the last {@link FaultProxy.plan}, in the order of arrival. */
  readonly operations: readonly string[];
  /** Resets the proxy: all requests go through. */
  plan(): void;
  /**
   * Resets the proxy and halts it after request number `at`, from 1: the database executes it, and no request is answered
   * from then on. Resolves at that point.
   */
  haltAfter(at: number): Promise<void>;
  stop(): Promise<void>;
}

const WRITES: ReadonlySet<string> = new Set([
  "BatchWriteItem",
  "DeleteItem",
  "PutItem",
  "TransactWriteItems",
  "UpdateItem",
]);

export const isRead = (operation: string): boolean => !WRITES.has(operation);

/**
 * A proxy in front of DynamoDB that counts requests, and stops answering after one of them.
 *
 * @param target the database's address
 */
export const startFaultProxy = async (target: string): Promise<FaultProxy> => {
  let operations: string[] = [];
  let halt: { readonly at: number; readonly reached: () => void } | null = null;
  const { address, stop } = await startProxy(target, async ({ operation }, _, pass) => {
    const number = operations.push(operation);
    if (halt !== null && number > halt.at) return;
    const respond = await pass();
    if (halt?.at === number) halt.reached();
    else respond();
  });
  const plan = (): void => {
    operations = [];
    halt = null;
  };
  return {
    endpoint: address,
    get operations() {
      return operations;
    },
    plan,
    haltAfter: (at) => {
      plan();
      const { promise, resolve } = Promise.withResolvers<void>();
      halt = { at, reached: resolve };
      return promise;
    },
    stop,
  };
};
