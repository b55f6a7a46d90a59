export interface Repeating {
  readonly attempts: number;
  /** Waits before an attempt after the first. */
  readonly pause: (attempt: number) => Promise<void>;
  /** Message of the error after the last attempt. */
  readonly failure: string;
}

/**
 * Repeats a step until it is done.
 *
 * @param step whether nothing is left to do
 * @throws Error if something is left after the last attempt
 */
export const repeatUntilDone = async (
  step: () => Promise<boolean>,
  { attempts, pause, failure }: Repeating,
): Promise<void> => {
  for (let attempt = 1; !(await step()); attempt += 1) {
    if (attempt === attempts) throw new Error(failure);
    await pause(attempt + 1);
  }
};
