/** Stand-in. */
export const checkDestinationUrl = (url: string): string | null =>
  url.startsWith("https://") ? null : "must begin with https://";
