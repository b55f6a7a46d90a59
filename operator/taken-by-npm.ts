/**
 * An option that npm consumed because no `--` preceded it: for `npm run <script> --table=x`, npm puts it into the
 * environment and runs the script without it. Null: none of these.
 *
 * @param names options without dashes; none of npm's own, which may come from `.npmrc`
 */
export const takenByNpm = (
  environment: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): string | null => {
  for (const name of names) {
    const value = environment[`npm_config_${name.replaceAll("-", "_")}`];
    if (value) return value === "true" ? `--${name}` : `--${name} ${value}`;
  }
  return null;
};
