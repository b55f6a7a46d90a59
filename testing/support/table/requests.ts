import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import type { TestTable } from "./table.ts";

/** A transaction's failure by another write at the same time. */
export const transactionConflict = (): Error =>
  new TransactionCanceledException({
    message: "Transaction cancelled",
    CancellationReasons: [{ Code: "TransactionConflict" }],
    $metadata: {},
  });

/** The commands that `act` sends to the table. */
export const requests = async (table: TestTable, act: () => Promise<unknown>): Promise<string[]> => {
  table.sent.length = 0;
  await act();
  return table.sent.map(({ command }) => command.replace("Command", ""));
};

/** Runs `act`; its transaction number `at`, from 0, fails with a conflicting write. */
export const meetingAWriteAt = async <T>(table: TestTable, at: number, act: () => Promise<T>): Promise<T> => {
  let sent = 0;
  table.client.middlewareStack.add(
    (next, context) => (args) => {
      if (context["commandName"] === "TransactWriteItemsCommand" && sent++ === at)
        throw transactionConflict();
      return next(args);
    },
    { step: "initialize", name: "meeting a write" },
  );
  try {
    return await act();
  } finally {
    table.client.middlewareStack.remove("meeting a write");
  }
};

/** The code of the refusal; `accepted` when there is none. */
export const refusal = async (act: Promise<unknown>): Promise<unknown> =>
  act.then(
    () => "accepted",
    (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
  );
