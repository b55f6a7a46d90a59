import { useState } from "preact/hooks";
import { sentenceOf } from "../server.ts";

export const useRun = (changed: () => void) => {
  const [said, setSaid] = useState<{ readonly text: string; readonly isError: boolean } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = (act: () => Promise<string>): void => {
    setBusy(true);
    setSaid(null);
    act()
      .then(
        (text) => setSaid({ text, isError: false }),
        (error: unknown) => setSaid({ text: sentenceOf(error), isError: true }),
      )
      .finally(() => {
        setBusy(false);
        changed();
      });
  };
  const outcome = said !== null && (
    <p role={said.isError ? "alert" : "status"} class={said.isError ? "error" : ""}>
      {said.text}
    </p>
  );
  return { run, isBusy, outcome };
};
