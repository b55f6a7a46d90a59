import { BarChart, LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, TitleComponent } from "echarts/components";
import { init, use, type EChartsCoreOption } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

use([BarChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

/** Charts as SVG, drawn without a browser, on a white background. */
export interface Series {
  readonly name: string;
  readonly values: readonly number[];
}

export interface Chart {
  readonly title: string;
  readonly categories: readonly string[];
  readonly series: readonly Series[];
  /** Unit of the values. */
  readonly unit: string;
  /** Name of the category axis. */
  readonly of?: string;
  readonly kind: "bars" | "stacked bars" | "horizontal bars" | "lines";
  readonly logarithmic?: boolean;
  readonly height?: number;
}

const WIDTH = 860;
const COLORS = ["#2563eb", "#f59e0b", "#10b981", "#9333ea", "#ef4444", "#64748b"];
const INK = "#334155";

const short = (value: number): string =>
  value >= 1000
    ? `${(value / 1000).toFixed(value >= 10_000 ? 0 : 1)}k`
    : value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);

/** Style of an axis and its name. */
const axisStyle = { axisLabel: { color: INK }, nameTextStyle: { color: INK }, nameLocation: "middle" };

const optionOf = (chart: Chart): EChartsCoreOption => {
  const { title, categories, series, unit, of = "", kind, logarithmic = false } = chart;
  const horizontal = kind === "horizontal bars";
  const category = {
    type: "category",
    data: [...categories],
    ...axisStyle,
    name: of,
    nameGap: 32,
    ...(horizontal && { inverse: true }),
  };
  const value = {
    type: logarithmic ? "log" : "value",
    ...axisStyle,
    name: unit,
    nameGap: horizontal ? 28 : 48,
    splitLine: { lineStyle: { color: "#e2e8f0" } },
  };
  return {
    animation: false,
    backgroundColor: "#ffffff",
    color: COLORS,
    textStyle: { fontFamily: "system-ui, sans-serif" },
    title: { text: title, left: 16, top: 10, textStyle: { fontSize: 15, color: INK } },
    legend: { top: 36, left: 16, textStyle: { color: INK } },
    grid: { left: horizontal ? 220 : 72, right: horizontal ? 56 : 32, top: 76, bottom: 52 },
    xAxis: horizontal ? value : category,
    yAxis: horizontal ? category : value,
    series: series.map(({ name, values }) => ({
      name,
      type: kind === "lines" ? "line" : "bar",
      data: [...values],
      ...(kind === "stacked bars" && { stack: "all" }),
      ...(kind === "lines" && { symbolSize: 7 }),
      ...(kind !== "stacked bars" &&
        kind !== "lines" && {
          label: {
            show: true,
            position: horizontal ? "right" : "top",
            fontSize: 10,
            color: INK,
            formatter: ({ value }: { readonly value: unknown }) => short(Number(value)),
          },
        }),
    })),
  };
};

export const drawChart = (chart: Chart): string => {
  const drawn = init(null, null, {
    renderer: "svg",
    ssr: true,
    width: WIDTH,
    height: chart.height ?? 380,
  });
  drawn.setOption(optionOf(chart));
  const svg = drawn.renderToSVGString();
  drawn.dispose();
  return svg;
};
