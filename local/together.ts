/**
 * Runs two tasks concurrently. If one fails, the other is aborted and awaited, so that nothing keeps running unnoticed.
 *
 * @throws the first failure
 */
export const together = async <A, B>(
  signal: AbortSignal,
  first: (signal: AbortSignal) => Promise<A>,
  second: (signal: AbortSignal) => Promise<B>,
): Promise<readonly [A, B]> => {
  const controller = new AbortController();
  const either = AbortSignal.any([signal, controller.signal]);
  const both = [first(either), second(either)] as const;
  try {
    return await Promise.all(both);
  } finally {
    controller.abort();
    await Promise.allSettled(both);
  }
};
