/** Items that an operator's command processes at the same time. */
export const AT_ONCE = { concurrency: 25 } as const;
