import { useEffect, useRef, useState } from "preact/hooks";
import type { ActRequest } from "../../operator/console/acts.ts";
import { callWithWarnings, sentenceOf } from "../server.ts";
import { submitting } from "./form.ts";
import { Problem, Sentence } from "./text.tsx";

type Act = ActRequest["act"];

/** A field that an act needs beside what the page knows: the argument or option of its name. */
interface Field {
  readonly name: string;
  readonly label: string;
  readonly isRequired?: true;
  /** Several values, separated by spaces. */
  readonly isList?: true;
  readonly placeholder?: string;
  /** Initial text. */
  readonly value?: string;
}

export interface Offer {
  readonly label: string;
  readonly about: string;
  readonly fields?: readonly Field[];
  readonly act: Act;
  /** Whether it takes something away: it needs a reason, and the command asks before. */
  readonly takesAway?: true;
}

const REASON: Field = { name: "reason", label: "Reason, for the audit", isRequired: true };
const BY: Field = { name: "by", label: "Who, for the audit", placeholder: "your user name" };

type Step =
  | { readonly at: "filling"; readonly error: string | null }
  | { readonly at: "asked"; readonly act: Act; readonly question: string }
  | { readonly at: "done"; readonly lines: readonly string[] };

const LEAVE = { filling: "Cancel", asked: "No, change nothing", done: "Close" } as const;

const Fields = ({ fields }: { readonly fields: readonly Field[] }) => (
  <>
    {fields.map(({ name, label, isRequired = false, placeholder = "", value = "" }) => (
      <label key={name}>
        {label}
        <input
          name={name}
          required={isRequired}
          placeholder={placeholder}
          defaultValue={value}
          autoComplete="off"
        />
      </label>
    ))}
  </>
);

/** Steps of an act: it is filled in, asked about as on the command line, and done. */
const useAct = (offer: Offer, fields: readonly Field[]) => {
  const [step, setStep] = useState<Step>({ at: "filling", error: null });
  const [isBusy, setBusy] = useState(false);
  const run = async (act: Act, confirmed?: string): Promise<void> => {
    setBusy(true);
    try {
      const { answer, warnings } = await callWithWarnings("act", {
        act,
        ...(confirmed !== undefined && { confirmed }),
      });
      setStep(
        answer.outcome === "asked"
          ? { at: "asked", act, question: answer.question }
          : { at: "done", lines: [...warnings, ...answer.progress, answer.text] },
      );
    } catch (error) {
      setStep({ at: "filling", error: sentenceOf(error) });
    } finally {
      setBusy(false);
    }
  };
  const submit = submitting((field) => {
    if (step.at === "asked") return void run(step.act, step.question);
    // An empty field is left out.
    const filledIn = fields.flatMap(({ name, isList }) => {
      const text = field(name);
      return text === "" ? [] : [[name, isList ? text.split(/[\s,]+/).filter(Boolean) : text]];
    });
    return void run({ ...offer.act, ...Object.fromEntries(filledIn) });
  });
  return { step, isBusy, submit };
};

const ActDialog = ({
  offer,
  close,
}: {
  readonly offer: Offer;
  readonly close: (wasDone: boolean) => void;
}) => {
  const fields = [...(offer.fields ?? []), ...(offer.takesAway ? [REASON] : []), BY];
  const { step, isBusy, submit } = useAct(offer, fields);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const goOn = step.at === "asked" ? "Yes, do it" : offer.takesAway ? "Show what it does" : offer.label;
  return (
    <dialog ref={dialog} aria-labelledby="act" onClose={() => close(step.at === "done")}>
      <article>
        <h2 id="act">{offer.label}</h2>
        <form onSubmit={submit}>
          {step.at === "filling" && (
            <>
              <p>{offer.about}</p>
              {step.error !== null && <Problem>{step.error}</Problem>}
              <Fields fields={fields} />
            </>
          )}
          {step.at === "asked" && (
            <p role="alert">
              <Sentence>{step.question}</Sentence>
            </p>
          )}
          {step.at === "done" && <pre role="status">{step.lines.join("\n")}</pre>}
          {/* New buttons at each step: none keeps the focus, to be pressed twice by mistake. */}
          <div key={step.at} class="buttons">
            <button
              type="button"
              class={step.at === "done" ? "" : "secondary"}
              onClick={() => dialog.current?.close()}
            >
              {LEAVE[step.at]}
            </button>
            {step.at !== "done" && (
              <button type="submit" aria-busy={isBusy} disabled={isBusy}>
                {goOn}
              </button>
            )}
          </div>
        </form>
      </article>
    </dialog>
  );
};

export const Acts = ({
  offers,
  changed,
}: {
  readonly offers: readonly Offer[];
  /** Called when something was done. */
  readonly changed: () => void;
}) => {
  const [offered, setOffered] = useState<Offer | null>(null);
  // A dialog tells that it was closed a moment after it is gone: the next one may be open by then.
  const close = (closed: Offer, wasDone: boolean): void => {
    setOffered((current) => (current === closed ? null : current));
    if (wasDone) changed();
  };
  return (
    <>
      <div class="buttons">
        {offers.map((offer) => (
          <button
            key={offer.label}
            type="button"
            class={offer.takesAway ? "outline contrast" : "outline"}
            onClick={() => setOffered(offer)}
          >
            {offer.label} …
          </button>
        ))}
      </div>
      {offered !== null && (
        <ActDialog key={offered.label} offer={offered} close={(wasDone) => close(offered, wasDone)} />
      )}
    </>
  );
};
