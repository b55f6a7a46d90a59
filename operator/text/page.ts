import { counted } from "./answer.ts";
import { OperatorError } from "../operator-error.ts";

export interface Page {
  /** From 1 on. */
  readonly number: number;
  readonly size: number;
}

export const EVERYTHING: Page = { number: 1, size: Infinity };

/** @throws OperatorError */
export const readCount = (text: string, name: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new OperatorError(`${name} must be a number from 1 on.`);
  return Number(text);
};

export const pagesOf = ({ size }: Page, total: number): number => Math.max(1, Math.ceil(total / size));

export const requirePage = (page: Page, total: number): void => {
  const pages = pagesOf(page, total);
  if (page.number > pages)
    throw new OperatorError(`There is no page ${page.number}: it has ${counted(pages, "page")}.`);
};

/** Whether the page holds the item with this index, from 0 on. */
export const isOnPage = ({ number, size }: Page, index: number): boolean =>
  number === 1 ? index < size : index >= (number - 1) * size && index < number * size;

/** Range of the purchases on the page; false if it has all. */
export const pageText = (page: Page, total: number): string | false => {
  const pages = pagesOf(page, total);
  const first = (page.number - 1) * page.size + 1;
  const last = Math.min(total, page.number * page.size);
  const next = page.number < pages ? `; the next ones: --page ${page.number + 1}` : "";
  return pages > 1 && `Purchases ${first} to ${last} of ${total}${next}`;
};
