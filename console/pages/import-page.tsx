import { useMemo, useState } from "preact/hooks";
import { AccountLink, counted, Problem, Sentence, Table, Value } from "../parts/text.tsx";
import type { RouteTo } from "../route.ts";
import { readDifferences, readReport, searched, type Difference, type RunReport } from "./import-files.ts";

const MOST_SHOWN = 200;

const Causes = ({ causes }: Pick<RunReport, "causes">) => {
  const most = Math.max(...causes.map(({ accounts }) => accounts));
  return (
    <Table
      caption="Causes"
      isNamed
      headings={["Cause", "Accounts", "Share of the largest", "Meaning"]}
      empty="No account differs."
      rows={causes.map(({ cause, accounts, meaning }) => [
        cause,
        String(accounts),
        <div class="bar" style={{ width: `${(100 * accounts) / most}%` }} />,
        meaning,
      ])}
    />
  );
};

const ACCESS: Readonly<Record<string, string>> = { true: "gives access", false: "gives none" };

const Differences = ({
  application,
  differences,
}: {
  readonly application: string;
  readonly differences: readonly Difference[];
}) => {
  const [text, setText] = useState("");
  const found = useMemo(() => searched(differences, text), [differences, text]);
  return (
    <>
      <search>
        <label for="sought">Account, cause, product, state, file or purchase</label>
        <input
          id="sought"
          type="search"
          autoComplete="off"
          dir="auto"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </search>
      <p role="status">
        {counted(found.length, "purchase")}
        {found.length > MOST_SHOWN && `; the first ${MOST_SHOWN} are shown`}
      </p>
      <Table
        caption="Accounts that differ"
        isNamed
        headings={["Account", "Cause", "Store", "Product", "State", "Other service", "Row"]}
        empty="None."
        rows={found
          .slice(0, MOST_SHOWN)
          .map(({ account, cause, store, product, state, other_service_gives_access: access, file, row }) => [
            <AccountLink application={application} account={account} />,
            cause,
            store,
            product || "–",
            state,
            ACCESS[access] ?? "–",
            `${file} ${row}`,
          ])}
      />
    </>
  );
};

/** The browser reads the files and sends them nowhere. */
export const ImportPage = ({ application }: RouteTo<"import">) => {
  const [report, setReport] = useState<RunReport | null>(null);
  const [differences, setDifferences] = useState<readonly Difference[] | null>(null);
  const [unknown, setUnknown] = useState<readonly string[]>([]);
  const read = async (files: readonly File[]): Promise<void> => {
    const others: string[] = [];
    for (const file of files) {
      const text = await file.text();
      const [asReport, asDifferences] = [readReport(text), readDifferences(text)];
      if (asReport !== null) setReport(asReport);
      else if (asDifferences !== null) setDifferences(asDifferences);
      else others.push(file.name);
    }
    setUnknown(others);
  };
  return (
    <>
      <h1>Report of an import</h1>
      <p>
        A run writes <code>import-report.json</code> and <code>import-differences.csv</code>. This page reads
        them here, and sends them nowhere.
      </p>
      <label>
        Both files
        <input
          type="file"
          multiple
          accept=".json,.csv"
          onChange={({ currentTarget }) => void read([...(currentTarget.files ?? [])])}
        />
      </label>
      {unknown.map((name) => (
        <Problem key={name}>
          <Value>{name}</Value> is neither a run&apos;s report nor its list of accounts that differ.
        </Problem>
      ))}
      {report !== null && (
        <>
          <p>
            <Sentence>{report.sentence}</Sentence>
          </p>
          <h2>Causes</h2>
          <Causes causes={report.causes} />
        </>
      )}
      {differences !== null && (
        <>
          <h2>Accounts that differ</h2>
          <Differences application={application} differences={differences} />
        </>
      )}
    </>
  );
};
