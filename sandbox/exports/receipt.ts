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

const SIGNED_DATA = "1.2.840.113549.1.7.2";
const DATA = "1.2.840.113549.1.7.1";

/** Types of a receipt's attributes. */
const BUNDLE = 2;
const IN_APP = 17;
const PRODUCT = 1702;
const TRANSACTION = 1703;
const ORIGINAL_TRANSACTION = 1705;

const tagged = (value: BaseBlock): Constructed =>
  new Constructed({ idBlock: { tagClass: 3, tagNumber: 0 }, value: [value] });

const attribute = (type: number, value: BaseBlock): Sequence =>
  new Sequence({
    value: [
      new Integer({ value: type }),
      new Integer({ value: 1 }),
      new OctetString({ valueHex: value.toBER() }),
    ],
  });

const text = (type: number, value: string): Sequence => attribute(type, new Utf8String({ value }));

/**
 * A legacy app receipt with one purchase, in base64: PKCS #7 with Apple's attributes, and without signers, as nobody
 * verifies it: a receipt only names a transaction to ask about.
 *
 * @see https://developer.apple.com/documentation/appstorereceipts
 */
export const legacyReceipt = (purchase: {
  readonly bundleIdentifier: string;
  readonly productIdentifier: string;
  readonly transactionIdentifier: string;
  readonly originalTransactionIdentifier: string;
}): string => {
  const inApp = new SetOf({
    value: [
      text(PRODUCT, purchase.productIdentifier),
      text(TRANSACTION, purchase.transactionIdentifier),
      text(ORIGINAL_TRANSACTION, purchase.originalTransactionIdentifier),
    ],
  });
  const attributes = new SetOf({
    value: [text(BUNDLE, purchase.bundleIdentifier), attribute(IN_APP, inApp)],
  });
  const content = new Sequence({
    value: [new ObjectIdentifier({ value: DATA }), tagged(new OctetString({ valueHex: attributes.toBER() }))],
  });
  const signedData = new Sequence({
    value: [new Integer({ value: 1 }), new SetOf({ value: [] }), content, new SetOf({ value: [] })],
  });
  const receipt = new Sequence({
    value: [new ObjectIdentifier({ value: SIGNED_DATA }), tagged(signedData)],
  });
  return Buffer.from(receipt.toBER()).toString("base64");
};
