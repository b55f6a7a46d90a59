import type { Application } from "../../../applications/application.ts";
import type { Store } from "../../../contract/schemas.ts";
import { askPerson, type AppStoreAsking } from "./ask-person.ts";
import { askToken, packagesOf, type TokenQuestion } from "./ask-token.ts";
import type { AskedEnvironment, Claim } from "../claim.ts";
import type { JournalEntry, OpenOutcome } from "../journal.ts";
import { applyEntry, idOf, isNewest, joinedAt, slotOf, type Join } from "../join.ts";
import { ORDERS_AT_ONCE, resolveOrders } from "./resolve-orders.ts";
import { createTurns, sideBySide } from "../side-by-side.ts";
import { sha256 } from "../slots.ts";
import { claimsOf, type ImportSource, type PlacedClaim } from "../source.ts";
import type { Storing } from "./storing.ts";
import type { ImportStores } from "./stores.ts";

export interface Asking extends AppStoreAsking, ImportStores {
  readonly application: Application;
  readonly storing: Storing;
  readonly join: Join;
  /** Only purchases of this environment; null: of each that the manifest accepts. */
  readonly only: AskedEnvironment | null;
  readonly record: (entry: JournalEntry) => void;
  /** Receives every claim once it is done with, asked about or not. */
  readonly onClaim: (store: Store) => void;
  /** Receives an answer that differs from what the claim says. */
  readonly onAsked: (placed: PlacedClaim) => void;
  readonly atOnce: number;
}

const placeOf = ({ file, row, claim }: PlacedClaim) => ({ file, row, id: sha256(idOf(claim)) });

/** Writes an entry, and counts it at once. */
const note = ({ join, record, onAsked }: Asking, placed: PlacedClaim, entry: JournalEntry): void => {
  record(entry);
  applyEntry(join, entry);
  onAsked(placed);
};

const failed = (
  asking: Asking,
  placed: PlacedClaim,
  outcome: OpenOutcome | "unknown" | "dropped" | "excluded",
): void => note(asking, placed, { ...placeOf(placed), outcome });

const askAppStore = async (asking: Asking, placed: PlacedClaim): Promise<void> => {
  const { claim } = placed;
  const transaction = claim.lineage ?? claim.name?.value ?? "";
  const asked = await askPerson(asking, asking.application, claim, transaction, asking.only);
  if (asked.outcome !== "answered") {
    failed(asking, placed, asked.outcome);
    return;
  }
  const stored = await asking.storing.appStoreFacts(asked.facts);
  const { lineages } = asked;
  note(asking, placed, {
    ...placeOf(placed),
    outcome: "answered",
    stored,
    lineages: [...lineages],
    samePerson: [],
  });
};

const askGoogle = async (asking: Asking, placed: PlacedClaim, question: TokenQuestion): Promise<void> => {
  const { application } = asking;
  const packages = packagesOf(application, placed.claim);
  if (packages.length === 0) {
    failed(asking, placed, "unconfigured");
    return;
  }
  for (const [index, configuration] of packages.entries()) {
    const asked = await askToken(asking, application, configuration, question, asking.only);
    if (asked.outcome === "unknown" && index < packages.length - 1) continue;
    if (asked.outcome !== "answered") {
      failed(asking, placed, asked.outcome === "unknown" ? "dropped" : asked.outcome);
      return;
    }
    const stored = await asking.storing.androidPurchase(asked.configuration, asked.verified, asked.source);
    const { lineages, samePerson } = asked;
    note(asking, placed, {
      ...placeOf(placed),
      outcome: "answered",
      stored,
      lineages: [...lineages],
      samePerson: [...samePerson],
    });
    return;
  }
};

/** Asks about purchases that order ids name: for their tokens, then for each. */
const askOrders = async (asking: Asking, batch: readonly PlacedClaim[]): Promise<void> => {
  const waiting = new Map(batch.map((placed) => [placed.claim.name?.value ?? "", placed]));
  const packages = packagesOf(asking.application, { app: batch[0]?.claim.app ?? null });
  let outcome: OpenOutcome | "dropped" = "unconfigured";
  for (const configuration of packages) {
    const { found, failed: why } = await resolveOrders(asking.orders, configuration, [...waiting.keys()]);
    outcome = why ?? "dropped";
    await sideBySide(found.values(), asking.atOnce, async (order) => {
      const placed = waiting.get(order.orderIdentifier);
      if (placed === undefined) return;
      waiting.delete(order.orderIdentifier);
      const also = [sha256(idOf(placed.claim))];
      const { product } = placed.claim;
      const { purchaseToken: token, productKind: kind } = order;
      await askGoogle(asking, placed, { token, kind, product, also });
    });
    if (waiting.size === 0 || why !== null) break;
  }
  for (const placed of waiting.values()) failed(asking, placed, outcome);
};

type Question = readonly [PlacedClaim, ...PlacedClaim[]];

const isOpen = ({ join }: Asking, claim: Claim): boolean =>
  claim.name !== null && isNewest(join, claim) && joinedAt(join, slotOf(join, claim)).state === "unasked";

const questionsOf = async function* (
  source: ImportSource,
  store: Store,
  asking: Asking,
): AsyncGenerator<Question> {
  const orders = new Map<string, PlacedClaim[]>();
  for await (const placed of claimsOf(source)) {
    const { claim } = placed;
    if (claim.store !== store) continue;
    if (!isOpen(asking, claim)) {
      asking.onClaim(store);
      continue;
    }
    if (claim.name?.kind !== "order") {
      yield [placed];
      continue;
    }
    const batch = orders.get(claim.app ?? "") ?? [];
    orders.set(claim.app ?? "", batch);
    batch.push(placed);
    const [first, ...others] = batch;
    if (first === undefined || batch.length < ORDERS_AT_ONCE) continue;
    orders.delete(claim.app ?? "");
    yield [first, ...others];
  }
  for (const [first, ...others] of orders.values()) if (first !== undefined) yield [first, ...others];
};

/** Asks a store about everything of it that is not answered yet. Claims of one account are asked about one by one. */
export const askStore = async (source: ImportSource, store: Store, asking: Asking): Promise<void> => {
  const turns = createTurns<string>();
  const ask = async ([first, ...others]: Question): Promise<void> => {
    const { claim } = first;
    if (claim.name?.kind === "order") return askOrders(asking, [first, ...others]);
    // A person's other claim may have been answered meanwhile.
    if (!isOpen(asking, claim)) return;
    if (store === "ios-store") return askAppStore(asking, first);
    const { name, kind, product } = claim;
    return askGoogle(asking, first, { token: name?.value ?? "", kind, product, also: [] });
  };
  await sideBySide(questionsOf(source, store, asking), asking.atOnce, async (question) => {
    const [{ claim }] = question;
    await turns(claim.account ?? idOf(claim), async () => ask(question));
    for (let asked = 0; asked < question.length; asked += 1) asking.onClaim(store);
  });
};
