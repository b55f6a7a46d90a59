import { createHash } from "node:crypto";
import * as z from "zod";

const SIZE = 20;

const token = z.strictObject({ after: z.string(), query: z.string() });

/** Short name of a query, which distinguishes its pages from another's. */
export const queryName = (...parts: readonly unknown[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 12);

/** Continues a query after one of its results. */
export const pageTokenOf = (after: string, query: string): string =>
  Buffer.from(JSON.stringify({ after, query })).toString("base64url");

/** Result after which the page begins; null: the token belongs to another query. */
export const readPageToken = (text: string, query: string): string | null => {
  try {
    const parsed = token.parse(JSON.parse(Buffer.from(text, "base64url").toString("utf8")));
    return parsed.query === query ? parsed.after : null;
  } catch {
    return null;
  }
};

export const pageOf = <Result>(remaining: readonly Result[]) => {
  const page = remaining.slice(0, SIZE);
  return { page, last: page.at(-1), hasMore: remaining.length > page.length };
};
