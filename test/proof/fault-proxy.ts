import { startProxy } from "../../testing/support/table/proxy.ts";

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
export const startFaultProxy = async (target: string) => {
  let operations: string[] = [];
  let halt: { readonly at: number; readonly reached: () => void } | null = null;
  const { address, stop } = await startProxy(target, async ({ operation }, _, pass) => {
    const number = operations.push(operation);
    if (halt !== null && number > halt.at) return;
    const respond = await pass();
    if (halt?.at === number) halt.reached();
    else respond();
  });
  /** Resets the proxy: all requests go through. */
  const plan = (): void => {
    operations = [];
    halt = null;
  };
  return {
    endpoint: address,
    /** Operations of the requests since the last {@link plan}, in the order of arrival. */
    get operations(): readonly string[] {
      return operations;
    },
    plan,
    /**
     * Resets the proxy and halts it after request number `at`, from 1: the database executes it, and no request is answered
     * from then on. Resolves at that point.
     */
    haltAfter: (at: number): Promise<void> => {
      plan();
      const { promise, resolve } = Promise.withResolvers<void>();
      halt = { at, reached: resolve };
      return promise;
    },
    stop,
  };
};
export type FaultProxy = Awaited<ReturnType<typeof startFaultProxy>>;
