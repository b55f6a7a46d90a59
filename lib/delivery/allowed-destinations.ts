/** Whether a webhook may have this URL although it is plain HTTP, or its address is not public. */
export type AllowsDestination = (url: string) => boolean;

export const ALLOWS_NONE: AllowsDestination = () => false;

/** Reads a local run's `DESTINATIONS`: `any`, or origins with commas between them. Unset, as when deployed: none. */
export const allowedDestinations = (variable: string | undefined): AllowsDestination => {
  if (variable === undefined) return ALLOWS_NONE;
  const origins = new Set(variable.split(","));
  return (url) => origins.has("any") || origins.has(URL.parse(url)?.origin ?? "");
};
