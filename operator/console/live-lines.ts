/** A live stream of lines that replays the latest ones. */
export interface LiveLines {
  readonly add: (line: string) => void;
  /** Calls back with the kept lines and each further one. Returns a function that ends this. */
  readonly follow: (take: (line: string) => void) => () => void;
}

/** @param kept number of lines that a new follower gets first */
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
