import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import type { CallInput, CallName } from "../../operator/console/calls.ts";
import { type Answer, call, sentenceOf } from "../server.ts";
import { Problem } from "./text.tsx";

interface Loaded<T> {
  readonly value: T | null;
  readonly error: string | null;
  /** Loads it again; what is shown stays until then. */
  readonly again: () => void;
}

export const useLoaded = <T,>(load: () => Promise<T>): Loaded<T> => {
  const [state, setState] = useState<Omit<Loaded<T>, "again">>({ value: null, error: null });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isLeft = false;
    load().then(
      (value) => isLeft || setState({ value, error: null }),
      (error: unknown) => isLeft || setState({ value: null, error: sentenceOf(error) }),
    );
    return () => {
      isLeft = true;
    };
  }, [load, turn]);
  return { ...state, again: useCallback(() => setTurn((count) => count + 1), []) };
};

export const useCall = <Name extends CallName>(name: Name, input: CallInput<Name>): Loaded<Answer<Name>> =>
  useLoaded(useCallback(async () => call(name, input), [name, JSON.stringify(input)]));

export const Loading = <T,>({
  of: { value, error },
  children,
}: {
  readonly of: Loaded<T>;
  readonly children: (value: T) => ComponentChildren;
}) => {
  if (error !== null) return <Problem>{error}</Problem>;
  return value === null ? <p aria-busy="true">Loading …</p> : <>{children(value)}</>;
};

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

/** Handles a form on this page: its fields as text, by name. */
export const submitting =
  (take: (field: (name: string) => string) => void) =>
  (event: SubmitEvent): void => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const form = new FormData(event.currentTarget);
    take((name) => String(form.get(name) ?? ""));
  };
