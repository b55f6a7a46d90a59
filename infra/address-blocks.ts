import { isIPv4, isIPv6 } from "node:net";
import * as z from "zod";

/** Blocks of addresses, as AWS WAF takes them. */
export interface AddressBlocks {
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
}

const BLOCKS_IN_A_SET = 10_000;

/** The block in CIDR notation; null: the text is neither an address nor a block. */
const blockOf = (text: string): string | null => {
  const [address = "", length, ...others] = text.split("/");
  const longest = isIPv4(address) ? 32 : isIPv6(address) ? 128 : 0;
  const bits = length === undefined ? longest : /^\d{1,3}$/.test(length) ? Number(length) : 0;
  return others.length === 0 && bits >= 1 && bits <= longest ? `${address}/${bits}` : null;
};

const listed = z.union([
  z.array(z.string()),
  // From the command line.
  z.string().transform((text) => text.split(/[\s,]+/).filter((part) => part !== "")),
]);

/** A list of addresses and blocks (CIDR) of both kinds. */
export const addressBlocks: z.ZodType<AddressBlocks> = listed
  .refine((texts) => texts.length <= BLOCKS_IN_A_SET && texts.every((text) => blockOf(text) !== null))
  .transform((texts) => {
    const blocks = [...new Set(texts.flatMap((text) => blockOf(text) ?? []))].sort();
    return {
      ipv4: blocks.filter((block) => !block.includes(":")),
      ipv6: blocks.filter((block) => block.includes(":")),
    };
  })
  .meta({ expected: "a list of addresses or blocks, such as 198.51.100.7,2001:db8::/32" });

export const NO_BLOCKS: AddressBlocks = { ipv4: [], ipv6: [] };

export const hasBlocks = ({ ipv4, ipv6 }: AddressBlocks): boolean => ipv4.length + ipv6.length > 0;
