import { resolveCustomer } from "../../../lib/customers/storing/resolve-customer.ts";
import type { Claim } from "../../../lib/customers/storing/fact-store.ts";
import type { AssertedBy } from "../../../lib/contract/schemas.ts";
import type { StoredCustomer } from "../../../lib/customers/storing/records.ts";
import { accountId, customerId } from "../../../lib/identifiers.ts";
import { aCustomer } from "../planning.ts";

const MOMENT = 1_000;

type Says = `${AssertedBy} ${string}`;

const said = (says: Says): { account: ReturnType<typeof accountId>; assertedBy: AssertedBy } => {
  const [assertedBy, account] = says.split(" ") as [AssertedBy, string];
  return { account: accountId(account), assertedBy };
};

/** A customer: its name, its age in creation order, and its link as `credential A` or `client A`. */
const owner = (identifier: string, createdAt: number, link?: Says): StoredCustomer =>
  aCustomer({
    identifier: customerId(identifier),
    createdAt,
    link: link === undefined ? null : { ...said(link), linkedAt: createdAt },
  });
const claim = (says?: Says): Claim | null => (says === undefined ? null : said(says));

const outcome = (owners: StoredCustomer[], says?: Says, mayMove?: () => boolean): string => {
  const resolution = resolveCustomer(owners, claim(says), MOMENT, mayMove);
  if (resolution.outcome === "refused") return resolution.code;
  const { survivor, absorbed, link } = resolution;
  const who = survivor?.identifier ?? "new";
  const others = absorbed.map(({ identifier }) => identifier).join("+");
  const where = link === null ? "unlinked" : `${link.assertedBy} ${link.account} @${link.linkedAt}`;
  return `${who}${others && ` absorbs ${others}`}: ${where}`;
};

const x = owner("x", 1);
const y = owner("y", 2);
const xByA = owner("x", 1, "credential A");
const xByClientA = owner("x", 1, "client A");
const yByA = owner("y", 2, "credential A");
const yByB = owner("y", 2, "credential B");
const yByClientA = owner("y", 2, "client A");
const yByClientB = owner("y", 2, "client B");

const cases: [rule: string, owners: StoredCustomer[], says: Says | undefined, expected: string][] = [
  ["an unknown identity makes a new customer", [], undefined, "new: unlinked"],
  ["a new customer is linked by a credential", [], "credential A", "new: credential A @1000"],
  ["a known identity is the same customer", [x], undefined, "x: unlinked"],
  ["an unlinked customer takes the link", [x], "credential A", "x: credential A @1000"],
  ["a linked customer keeps its link when nothing is claimed", [xByA], undefined, "x: credential A @1"],
  ["a credential confirms a client's link", [xByClientA], "credential A", "x: credential A @1"],
  ["a client does not weaken a credential's link", [xByA], "client A", "x: credential A @1"],
  ["a credential does not displace a credential's link", [xByA], "credential B", "CUSTOMER_ALREADY_LINKED"],
  ["a client does not displace a client's link", [xByClientA], "client B", "CUSTOMER_ALREADY_LINKED"],
  ["a client's link yields to a credential", [xByClientA], "credential B", "x: credential B @1000"],
  ["accounts are compared byte for byte", [xByA], "credential a", "CUSTOMER_ALREADY_LINKED"],
  ["the older of two unlinked customers stays", [y, x], undefined, "x absorbs y: unlinked"],
  ["of two equally old the smaller one stays", [owner("y", 1), x], undefined, "x absorbs y: unlinked"],
  ["a linked one stays before an older unlinked one", [x, yByA], undefined, "y absorbs x: credential A @2"],
  ["the linked one stays when the claim agrees", [x, yByClientA], "client A", "y absorbs x: client A @2"],
  ["of one account's two the older stays", [yByA, xByA], undefined, "x absorbs y: credential A @1"],
  ["a credential's link goes first", [xByClientA, yByA], undefined, "x absorbs y: credential A @1"],
  ["customers of different accounts are not merged", [xByA, yByB], undefined, "IDENTITY_CONFLICT"],
  ["a claim of one account merges no two", [xByA, yByB], "credential A", "IDENTITY_CONFLICT"],
  ["clients' two accounts conflict for a client", [xByClientA, yByClientB], "client A", "IDENTITY_CONFLICT"],
  ["clients' two accounts conflict unclaimed", [xByClientA, yByClientB], undefined, "IDENTITY_CONFLICT"],
  ["clients' links yield", [xByClientA, yByClientB], "credential C", "x absorbs y: credential C @1000"],
  ["a client's yields in a merge", [xByClientA, yByB], "credential B", "y absorbs x: credential B @2"],
  ["a client's link does not yield without a claim", [xByClientA, yByB], undefined, "IDENTITY_CONFLICT"],
  ["one that yields stays", [x, yByClientA], "credential B", "y absorbs x: credential B @1000"],
  ["a linked one refuses another account", [x, yByA], "credential B", "CUSTOMER_ALREADY_LINKED"],
];

test.each(cases)("%s", (_, owners, says, expected) => {
  expect(outcome(owners, says)).toBe(expected);
  expect(outcome(owners.toReversed(), says)).toBe(expected);
});

test("where credentials may move a customer, a credential does, and no client", () => {
  expect(outcome([xByA], "credential B", () => true)).toBe("x: credential B @1000");
  expect(outcome([xByA], "client B", () => true)).toBe("CUSTOMER_ALREADY_LINKED");
});
