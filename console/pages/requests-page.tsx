import { useEffect, useState } from "preact/hooks";

const MOST_SHOWN = 200;

/** Requests through the local API as they come, the newest first. */
export const RequestsPage = () => {
  const [lines, setLines] = useState<readonly { readonly number: number; readonly text: string }[]>([]);
  const [isConnected, setConnected] = useState(true);
  useEffect(() => {
    const source = new EventSource("api/requests");
    let number = 0;
    source.addEventListener("open", () => {
      setConnected(true);
      setLines([]);
    });
    source.addEventListener("error", () => setConnected(false));
    source.addEventListener("message", ({ data }) => {
      number += 1;
      const line = { number, text: String(JSON.parse(String(data))) };
      setLines((before) => [line, ...before].slice(0, MOST_SHOWN));
    });
    return () => source.close();
  }, []);
  return (
    <>
      <h1>Requests</h1>
      <p>
        Requests to the API as they come, the newest first: method, path, status, duration, and why it was
        refused.
        {!isConnected && <strong> The service does not answer; waiting for it.</strong>}
      </p>
      {lines.length === 0 ? (
        <p>None yet.</p>
      ) : (
        <ol class="requests" reversed aria-live="polite" aria-label="Requests">
          {lines.map(({ number, text }) => (
            <li key={number}>
              <code>
                <bdi>{text}</bdi>
              </code>
            </li>
          ))}
        </ol>
      )}
    </>
  );
};
