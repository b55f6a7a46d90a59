import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import type { CallInput, CallName } from "../../operator/console/calls.ts";
import { call, sentenceOf, type Answer } from "../server.ts";
import { Problem } from "./text.tsx";

interface Loaded<T> {
  readonly value: T | null;
  readonly error: string | null;
  /** Loads it again; what is shown stays until then. */
  readonly again: () => void;
}

/** Loads a value for a page. */
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
