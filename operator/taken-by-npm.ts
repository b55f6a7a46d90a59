/**
 * An option that npm took for its own, because no `--` stood before it: `npm run <script> --table=x` runs the script
 * without it, and npm only puts it into the environment. Null: none of these.
 *
 * @param names options without their dashes; none that npm has itself, as those may come from `.npmrc`
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
