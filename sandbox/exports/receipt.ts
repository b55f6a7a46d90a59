import {
  Constructed,
  Integer,
  ObjectIdentifier,
  OctetString,
  Sequence,
  Set as SetOf,
  Utf8String,
  type BaseBlock,
} from "asn1js";
import type { IosIdentifiers, Person } from "./persons.ts";

const SIGNED_DATA = "1.2.840.113549.1.7.2";
const DATA = "1.2.840.113549.1.7.1";

const sequence = (...value: BaseBlock[]): Sequence => new Sequence({ value });
const oid = (value: string): ObjectIdentifier => new ObjectIdentifier({ value });
const octets = (content: BaseBlock): OctetString => new OctetString({ valueHex: content.toBER() });
const tagged = (value: BaseBlock): Constructed =>
  new Constructed({ idBlock: { tagClass: 3, tagNumber: 0 }, value: [value] });

const attribute = (type: number, value: BaseBlock): Sequence =>
  sequence(new Integer({ value: type }), new Integer({ value: 1 }), octets(value));
const text = (type: number, value: string): Sequence => attribute(type, new Utf8String({ value }));

/** Types of a receipt's attributes. */
const BUNDLE = 2;
const IN_APP = 17;
const PRODUCT = 1702;
const TRANSACTION = 1703;
const ORIGINAL_TRANSACTION = 1705;

/**
 * A legacy app receipt with one purchase, in base64: PKCS #7 with Apple's attributes, and without signers, as nobody
 * verifies it: a receipt only names a transaction to ask about.
 *
 * @see https://developer.apple.com/documentation/appstorereceipts
 */
export const legacyReceipt = (
  { app, product }: Pick<Person, "app" | "product">,
  { transactionIdentifier, originalTransactionIdentifier }: IosIdentifiers,
): string => {
  const inApp = new SetOf({
    value: [
      text(PRODUCT, product),
      text(TRANSACTION, transactionIdentifier),
      text(ORIGINAL_TRANSACTION, originalTransactionIdentifier),
    ],
  });
  const attributes = new SetOf({ value: [text(BUNDLE, app), attribute(IN_APP, inApp)] });
  const none = new SetOf({ value: [] });
  const content = sequence(oid(DATA), tagged(octets(attributes)));
  const signedData = sequence(new Integer({ value: 1 }), none, content, none);
  return Buffer.from(sequence(oid(SIGNED_DATA), tagged(signedData)).toBER()).toString("base64");
};
