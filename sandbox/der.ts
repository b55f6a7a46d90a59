import {
  Constructed,
  ObjectIdentifier,
  OctetString,
  Sequence,
  Set as SetOf,
  Utf8String,
  type BaseBlock,
} from "asn1js";

/** Blocks of ASN.1 that certificates and receipts are made of. */

export const der = (block: BaseBlock): Buffer => Buffer.from(block.toBER());
export const sequence = (...value: BaseBlock[]): Sequence => new Sequence({ value });
export const setOf = (...value: BaseBlock[]): SetOf => new SetOf({ value });
export const oid = (value: string): ObjectIdentifier => new ObjectIdentifier({ value });
export const octets = (content: Uint8Array): OctetString => new OctetString({ valueHex: content });
export const utf8 = (value: string): Utf8String => new Utf8String({ value });
export const tagged = (tagNumber: number, block: BaseBlock): Constructed =>
  new Constructed({ idBlock: { tagClass: 3, tagNumber }, value: [block] });
