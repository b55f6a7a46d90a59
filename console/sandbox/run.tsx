import { useState } from "preact/hooks";
import { sentenceOf } from "../server.ts";

/** Runs one act at a time, and shows how it went. */
export const useRun = (changed: () => void) => {
  const [result, setResult] = useState<{ readonly text: string; readonly isError: boolean } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = (act: () => Promise<string>): void => {
    setBusy(true);
    setResult(null);
    act()
      .then(
        (text) => setResult({ text, isError: false }),
        (error: unknown) => setResult({ text: sentenceOf(error), isError: true }),
      )
      .finally(() => {
        setBusy(false);
        changed();
      });
  };
  const outcome = result !== null && (
    <p role={result.isError ? "alert" : "status"} class={result.isError ? "error" : ""}>
      {result.text}
    </p>
  );
  return { run, isBusy, outcome };
};
