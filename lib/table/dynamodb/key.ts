export interface Key {
  readonly pk: string;
  readonly sk: string;
}

/** Names of the table's attributes, as in {@link Key}, and of its index from a customer to the owned items. */
export const TABLE = {
  partitionKey: "pk",
  sortKey: "sk",
  ownerIndex: "owner",
  ownerAttribute: "owner",
  timeToLiveAttribute: "expiresAt",
} as const satisfies Record<string, string> & { partitionKey: keyof Key; sortKey: keyof Key };

/** Map key of a key. */
export const keyText = ({ pk, sk }: Key): string => JSON.stringify([pk, sk]);

/** Inverse of {@link keyText}. */
export const keyOf = (text: string): Key => {
  const [pk, sk] = JSON.parse(text) as [string, string];
  return { pk, sk };
};
