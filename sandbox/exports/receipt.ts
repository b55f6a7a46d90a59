import { Integer, type BaseBlock, type Sequence } from "asn1js";
import { der, octets, oid, sequence, setOf, tagged, utf8 } from "../der.ts";
import type { IosIdentifiers, Person } from "./persons.ts";

const SIGNED_DATA = "1.2.840.113549.1.7.2";
const DATA = "1.2.840.113549.1.7.1";

const attribute = (type: number, value: BaseBlock): Sequence =>
  sequence(new Integer({ value: type }), new Integer({ value: 1 }), octets(der(value)));
const text = (type: number, value: string): Sequence => attribute(type, utf8(value));

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
  const inApp = setOf(
    text(PRODUCT, product),
    text(TRANSACTION, transactionIdentifier),
    text(ORIGINAL_TRANSACTION, originalTransactionIdentifier),
  );
  const attributes = setOf(text(BUNDLE, app), attribute(IN_APP, inApp));
  const content = sequence(oid(DATA), tagged(0, octets(der(attributes))));
  const signedData = sequence(new Integer({ value: 1 }), setOf(), content, setOf());
  return der(sequence(oid(SIGNED_DATA), tagged(0, signedData))).toString("base64");
};
