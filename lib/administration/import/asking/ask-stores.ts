import type { Store } from "../../../contract/schemas.ts";
import { createTurns, sideBySide } from "../../side-by-side.ts";
import { type Claim, claimsOf, type ImportSource, type PlacedClaim, sha256 } from "../claim.ts";
import { applyEntry, idOf, isNewest, lineageOf } from "../join.ts";
import type { JournalEntry, UnansweredOutcome } from "../journal.ts";
import { askPerson } from "./app-store.ts";
import type { Asked, Asking } from "./asking.ts";
import { askToken, ORDERS_AT_ONCE, packagesOf, resolveOrders } from "./google.ts";

/** Notes an outcome in the journal and in the join. */
const settle = (asking: Asking, placed: PlacedClaim, asked: Asked): void => {
  const { file, row, claim } = placed;
  const entry: JournalEntry = { file, row, id: sha256(idOf(claim)), ...asked };
  asking.record(entry);
  applyEntry(asking.join, entry);
  asking.onAsked(placed);
};

type Question = readonly [PlacedClaim, ...PlacedClaim[]];

/** Asks about purchases that order ids name: for their tokens, then for each. */
const askOrders = async (asking: Asking, batch: Question): Promise<void> => {
  const waiting = new Map(batch.map((placed) => [placed.claim.name?.value ?? "", placed]));
  let outcome: UnansweredOutcome = "unconfigured";
  for (const configuration of packagesOf(asking.application, batch[0].claim)) {
    const { found, failed } = await resolveOrders(asking.orders, configuration, [...waiting.keys()]);
    outcome = failed ?? "dropped";
    await sideBySide(found, asking.atOnce, async (order) => {
      const placed = waiting.get(order.orderIdentifier);
      if (placed === undefined) return;
      waiting.delete(order.orderIdentifier);
      const { claim } = placed;
      const { purchaseToken: token, productKind: kind } = order;
      const question = { token, kind, product: claim.product, also: [sha256(idOf(claim))] };
      settle(asking, placed, await askToken(asking, claim, question));
    });
    if (waiting.size === 0 || failed !== null) break;
  }
  for (const placed of waiting.values()) settle(asking, placed, { outcome });
};

const isOpen = ({ join }: Asking, claim: Claim): boolean =>
  claim.name !== null && isNewest(join, claim) && lineageOf(join, claim).state === "unasked";

/** Claims that are to be asked about, one by one; those with an order id, a batch of one bundle or package at a time. */
const questionsOf = async function* (
  source: ImportSource,
  store: Store,
  asking: Asking,
): AsyncGenerator<Question> {
  const batches = new Map<string, [PlacedClaim, ...PlacedClaim[]]>();
  for await (const placed of claimsOf(source)) {
    const { claim } = placed;
    if (claim.store !== store) continue;
    if (!isOpen(asking, claim)) asking.onClaim();
    else if (claim.name?.kind !== "order") yield [placed];
    else {
      const app = claim.app ?? "";
      const batch: [PlacedClaim, ...PlacedClaim[]] = [placed, ...(batches.get(app) ?? [])];
      batches.set(app, batch);
      if (batch.length < ORDERS_AT_ONCE) continue;
      batches.delete(app);
      yield batch;
    }
  }
  yield* batches.values();
};

/** Asks a store about everything of it that is not answered yet. Claims of one account are asked about one by one. */
export const askStore = async (source: ImportSource, store: Store, asking: Asking): Promise<void> => {
  const turns = createTurns<string>();
  const ask = async (question: Question): Promise<void> => {
    const [placed] = question;
    const { claim } = placed;
    if (claim.name?.kind === "order") return askOrders(asking, question);
    // A person's other claim may have been answered meanwhile.
    if (!isOpen(asking, claim)) return;
    const { name, kind, product } = claim;
    const asked =
      store === "ios-store"
        ? await askPerson(asking, claim)
        : await askToken(asking, claim, { token: name?.value ?? "", kind, product, also: [] });
    settle(asking, placed, asked);
  };
  await sideBySide(questionsOf(source, store, asking), asking.atOnce, async (question) => {
    const [{ claim }] = question;
    await turns(claim.account ?? idOf(claim), async () => ask(question));
    for (let asked = 0; asked < question.length; asked += 1) asking.onClaim();
  });
};
