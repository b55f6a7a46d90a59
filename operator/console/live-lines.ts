/** Lines as they come, and the latest of those before. */
export interface LiveLines {
  readonly add: (line: string) => void;
  /** Calls back with the lines kept, and with each further one. Returns what ends that. */
  readonly follow: (take: (line: string) => void) => () => void;
}

/** Keeps the latest lines for those who follow later. */
export const createLiveLines = (kept: number): LiveLines => {
  let lines: readonly string[] = [];
  const followers = new Set<(line: string) => void>();
  return {
    add: (line) => {
      lines = [...lines, line].slice(-kept);
      for (const take of followers) take(line);
    },
    follow: (take) => {
      for (const line of lines) take(line);
      followers.add(take);
      return () => void followers.delete(take);
    },
  };
};
